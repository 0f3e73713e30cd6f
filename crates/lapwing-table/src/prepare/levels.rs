//! Levels of a category that have an order.

/// Words with an order, in the lower case; those between two `|` mean the same place.
const ORDERS: [&str; 9] = [
    "strongly disagree/completely disagree/totally disagree|disagree/rather disagree|slightly disagree/somewhat disagree|\
     neutral/neither/neither agree nor disagree/undecided/neither disagree nor agree|slightly agree/somewhat agree|\
     agree/rather agree|strongly agree/completely agree/totally agree",
    "never|rarely/seldom|sometimes/occasionally|often/frequently|usually|always",
    "none|very low|low|medium/moderate/average|high|very high",
    "very poor/very bad/terrible|poor/bad|fair/ok/okay/average|good|very good|excellent/great",
    "very dissatisfied|dissatisfied|neutral/neither|satisfied|very satisfied",
    "none|mild|moderate|severe",
    "xxs|xs|s/small|m/medium|l/large|xl|xxl|xxxl",
    "not at all|a little/slightly|somewhat/moderately|very/very much|extremely",
    "first|second|third|fourth|fifth",
];

/// Levels, in the lower case, that are no answer and have no place in an order.
const NO_ANSWER: &str =
    "no answer|don't know|do not know|dont know|prefer not to say|unknown|not applicable|not sure|missing|other";

/// Fewest levels with an order.
const FEWEST: usize = 3;

/// The levels in their order, without those that are no answer; `None` if they have no known order.
///
/// Levels have an order if they are the words of a scale (never, often, always), or if each starts with a number (18–24, 25–34, 65+) and
/// some have more than digits, which are codes where they are levels.
pub(super) fn ordered<'l>(levels: impl Iterator<Item = &'l str>) -> Option<Vec<String>> {
    let answers: Vec<&str> =
        levels.filter(|level| !NO_ANSWER.split('|').any(|known| known == level.to_lowercase())).collect();
    if answers.len() < FEWEST {
        return None;
    }
    let by_words = ORDERS.iter().find_map(|order| placed(&answers, |level| place(order, level)));
    let are_codes = answers.iter().all(|level| level.bytes().all(|byte| byte.is_ascii_digit()));
    let placed = by_words.or_else(|| placed(&answers, first_number).filter(|_| !are_codes))?;
    Some(placed.into_iter().map(|(_, level)| level.to_owned()).collect())
}

/// The levels by their places, if each has one of its own.
fn placed<'l>(levels: &[&'l str], place: impl Fn(&str) -> Option<f64>) -> Option<Vec<(f64, &'l str)>> {
    let mut placed = levels.iter().map(|&level| Some((place(level)?, level))).collect::<Option<Vec<_>>>()?;
    placed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
    placed.is_sorted_by(|a, b| a.0 < b.0).then_some(placed)
}

fn place(order: &str, level: &str) -> Option<f64> {
    let level = level.trim().to_lowercase();
    order.split('|').position(|words| words.split('/').any(|word| word == level)).map(|at| at as f64)
}

/// The number at the start of a level, and half less behind a word for "below".
fn first_number(level: &str) -> Option<f64> {
    let lower = level.trim().to_lowercase();
    if lower.contains('★') && lower.chars().all(|c| matches!(c, '★' | '☆')) {
        return Some(lower.matches('★').count() as f64);
    }
    let below = ["<", "under ", "below ", "less than ", "up to "].iter().find_map(|word| lower.strip_prefix(word));
    let above = [">", "≥", "over ", "above ", "more than "].iter().find_map(|word| lower.strip_prefix(word));
    let rest = below.or(above).unwrap_or(&lower).trim_start_matches(['=', ' ', '$', '€', '£']);
    let digits: String =
        rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',')).filter(|c| *c != ',').collect();
    let number: f64 = digits.parse().ok()?;
    Some(number - if below.is_some() { 0.5 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(levels: &[&str]) -> Option<Vec<String>> {
        ordered(levels.iter().copied())
    }

    #[test]
    fn scales_and_ranges_have_an_order() {
        assert_eq!(
            of(&["Agree", "Strongly disagree", "Neutral", "no answer"]).unwrap(),
            ["Strongly disagree", "Neutral", "Agree"]
        );
        assert_eq!(of(&["65+", "18-24", "25-34", "under 18"]).unwrap(), ["under 18", "18-24", "25-34", "65+"]);
        assert_eq!(of(&["1 - low", "2 - high", "10 - top"]).unwrap(), ["1 - low", "2 - high", "10 - top"]);
        assert!(of(&["red", "green", "blue"]).is_none() && of(&["low", "high"]).is_none());
        assert_eq!(of(&["★★★", "★☆☆", "★★☆"]).unwrap(), ["★☆☆", "★★☆", "★★★"]);
        assert!(of(&["1a", "1b", "2c"]).is_none(), "two levels of one number");
        assert!(of(&["001", "002", "017"]).is_none(), "codes");
    }
}
