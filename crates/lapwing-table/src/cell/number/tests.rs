//! Numbers in every writing.

use proptest::prelude::*;

use super::*;

#[test]
fn written_numbers_lose_their_decoration() {
    let point = NumberStyle::Written(b'.');
    let texts = [
        ("1,234.50", 1234.5),
        ("$1,299.00", 1299.0),
        ("-$5", -5.0),
        ("$-5", -5.0),
        ("45%", 45.0),
        ("45 %", 45.0),
        ("1 234 567", 1234567.0),
        ("12 €", 12.0),
        ("1'000", 1000.0),
        ("€ 3.5", 3.5),
        ("7", 7.0),
        ("1e3", 1000.0),
        ("(1,234.50)", -1234.5),
        ("($5)", -5.0),
        ("1,200-", -1200.0),
        ("₹12,34,567", 1234567.0),
        ("USD 12.5", 12.5),
        ("12 kr", 12.0),
        ("R$ 7", 7.0),
        ("=\"95.82\"", 95.82),
        ("'12", 12.0),
        ("−5", -5.0),
        ("+ 5", 5.0),
        ("1.5e3 €", 1500.0),
        (".5 £", 0.5),
    ];
    texts.iter().for_each(|(text, value)| assert_eq!(point.parse(text.as_bytes()), Some(*value), "{text}"));
    let comma = NumberStyle::Written(b',');
    let texts = [("1.234,50", 1234.5), ("1.234", 1234.0), ("0,5", 0.5), ("1,5e3", 1500.0), ("12,00 €", 12.0)];
    texts.iter().for_each(|(text, value)| assert_eq!(comma.parse(text.as_bytes()), Some(*value), "{text}"));
    for odd in
        ["1,23,4", "12,34.5", "1.2.3", "", "$", "%", "5$5", "1,2345", ",5,", "--5", "1 2", "USD", "12 km", "EURO 5"]
    {
        assert_eq!(point.parse(odd.as_bytes()), None, "{odd}");
    }
    assert_eq!(comma.parse(b"1.5"), None);
    assert_eq!(NumberStyle::Plain(b',').parse(b"1.5"), None);
    assert_eq!(NumberStyle::Plain(b'.').parse(b"1,500"), None);
}

#[test]
fn columns_may_have_words_and_marks_at_their_numbers() {
    for (style, text, value) in [
        (NumberStyle::Scaled(b'.'), "€1.1M", 1.1e6),
        (NumberStyle::Scaled(b'.'), "565K", 565e3),
        (NumberStyle::Scaled(b'.'), "3 lakh", 3e5),
        (NumberStyle::Scaled(b'.'), "2.5 bn $", 2.5e9),
        (NumberStyle::Scaled(b','), "1,5 Mio", 1.5e6),
        (NumberStyle::Scaled(b'.'), "12", 12.0),
        (NumberStyle::Ledger(b'.'), "1,200 CR", 1200.0),
        (NumberStyle::Ledger(b'.'), "5Dr", -5.0),
        (NumberStyle::Flagged(b'.'), "<0.5", 0.5),
        (NumberStyle::Flagged(b'.'), ">= 100", 100.0),
        (NumberStyle::Flagged(b'.'), "12.3*", 12.3),
        (NumberStyle::Flagged(b'.'), "12 p", 12.0),
        (NumberStyle::Flagged(b'.'), "~1,200 [a]", 1200.0),
        (NumberStyle::Interval(b'.'), "(0.5, 1.5]", 1.0),
    ] {
        let found = style.parse(text.as_bytes());
        assert!(found.is_some_and(|found| (found - value).abs() <= 1e-9 * value.abs()), "{text}: {found:?}");
    }
    for odd in ["M", "5 cats", "<", "<a", "(5"] {
        assert_eq!(NumberStyle::Flagged(b'.').parse(odd.as_bytes()), None, "{odd}");
        assert_eq!(NumberStyle::Scaled(b'.').parse(odd.as_bytes()), None, "{odd}");
    }
}

#[test]
fn units_are_those_of_all_cells() {
    let style = NumberStyle::Unit(b'.', Affix::of(b"51.3 mm").unwrap());
    assert_eq!(style.parse(b"1,051.3 mm"), Some(1051.3));
    assert_eq!((style.parse(b"7mm"), style.parse(b"7 km"), style.parse(b"7")), (Some(7.0), None, None));
    assert_eq!(Affix::of("21 °C".as_bytes()), Affix::of("3°C".as_bytes()));
    ["mm", "7", "7 -", "7 (x)", "a 7 b", "user 7", "C-0001"]
        .iter()
        .for_each(|cell| assert_eq!(Affix::of(cell.as_bytes()), None, "{cell}"));
}

#[test]
fn amounts_of_several_units_are_added_up() {
    for (text, expected) in [
        ("5'10", 70.0),
        ("5'10\"", 70.0),
        ("6’ 2½", f64::NAN),
        ("6 ft 2 in", 74.0),
        ("6 feet", 72.0),
        ("5' 7.5''", 67.5),
    ] {
        let found = NumberStyle::Measure(0).parse(text.as_bytes());
        assert_eq!(found, Some(expected).filter(|x| !x.is_nan()), "{text}");
    }
    for text in ["5'12", "5", "x'3", "O'Neil"] {
        assert_eq!(NumberStyle::Measure(0).parse(text.as_bytes()), None, "{text}");
    }
    let of = |family: usize, text: &str| NumberStyle::Measure(family).parse(text.as_bytes());
    assert_eq!(
        (of(1, "13h38"), of(1, "1.5 h"), of(1, "3 yrs 6 mos")),
        (Some(49_080.0), Some(5_400.0), Some(110_451_600.0))
    );
    assert_eq!((of(2, "3 km"), of(2, "25 mm"), of(2, "3 ft")), (Some(3_000.0), Some(0.025), None));
    assert_eq!((of(3, "300 g"), of(4, "2 lb 4 oz"), of(6, "1.5 MB")), (Some(0.3), Some(2.25), Some(1.5e6)));
    assert_eq!((of(3, "-2,5 kg"), of(3, "1,500 g")), (Some(-2.5), None));
}

#[test]
fn numbers_of_other_hands_are_numbers() {
    let of = |style: NumberStyle, text: &str| style.parse(text.as_bytes());
    for (text, expected) in [
        ("\u{200f}−1,5", -1.5),
        ("４４", 44.0),
        ("\u{ad}7", 7.0),
        ("1,2×10³", 1200.0),
        ("1,2 x 10^-3", 0.0012),
        ("0x1f", 31.0),
        ("12,-", 12.0),
        ("12.–", 12.0),
    ] {
        assert_eq!(of(NumberStyle::Written(b','), text), Some(expected), "{text}");
    }
    for (text, expected) in [
        ("28.5° S", -28.5),
        ("S 28.5", -28.5),
        ("52°30'N", 52.5),
        ("10°00'36\"W", -10.01),
        ("▼ 3", -3.0),
        ("5 Cr", 5.0),
    ] {
        assert_eq!(of(NumberStyle::Ledger(b'.'), text), Some(expected), "{text}");
    }
    for (text, expected) in [("10-20", 15.0), ("10 to 20", 15.0), ("1..2", 1.5), ("(2012)", 2012.0), ("(1, 3]", 2.0)] {
        assert_eq!(of(NumberStyle::Interval(b'.'), text), Some(expected), "{text}");
    }
    for (text, expected) in
        [("12 ± 3", 12.0), ("12 (3.4%)", 12.0), ("12 [9, 15]", 12.0), ("at least 7", 7.0), ("15[1]", 15.0)]
    {
        assert_eq!(of(NumberStyle::Flagged(b'.'), text), Some(expected), "{text}");
    }
    assert_eq!(of(NumberStyle::Written(b'.'), "١٢٫٥"), Some(12.5));
    assert_eq!(of(NumberStyle::Ledger(b'.'), "N1"), None);
    for text in ["20-10", "12-3456", "2012-13"] {
        assert_eq!(of(NumberStyle::Interval(b'.'), text), None, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn plain_numbers_are_those_of_the_standard_library(
        bits in any::<u64>(), short in -1e6..1e6f64, digits in 0usize..8, whole in any::<i64>(), text in "[-+0-9.eE]{0,24}",
    ) {
        let texts = [f64::from_bits(bits).to_string(), format!("{short:.digits$}"), whole.to_string(), text];
        for text in texts {
            let found = plain(text.as_bytes(), b'.').map(f64::to_bits);
            let known = text.parse::<f64>().ok().map(f64::to_bits);
            prop_assert!(found == known || text.contains("NaN"), "{text}: {found:?} {known:?}");
        }
    }
}
