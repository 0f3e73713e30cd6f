//! A struct of parameters, declared and used by name.

use serde_json::json;

use super::*;

crate::choices! {
    /// A kernel.
    pub enum Kernel("kernel", default Rbf) {
        /// Gaussian.
        Rbf = "rbf",
        /// A power of the product.
        Poly = "poly",
    }
}

crate::parameters! {
    /// A part.
    struct Part {
        /// Slack of a size. It is a share.
        slack: f64 = 0.0, in at_least(0.0).below(1.0);
    }
}

crate::parameters! {
    /// An example.
    struct Example {
        /// Kernel.
        kernel: Kernel = Kernel::Rbf;
        /// Degree of the polynomial.
        degree: u32 = 3, in at_least(1.0).at_most(100.0), if [kernel: "poly"];
        /// Weight of smoothness: the larger,
        /// the smoother. A second sentence.
        graph_reg: Option<f64> = None, or "auto", in above(0.0).or_infinite();
        /// Most bytes.
        memory: Option<u64> = None, or "none", in at_least(1.0);
        /// A bias.
        bias: bool = false, if [degree: "given"], if [kernel: "rbf", "poly"] [graph_reg: "given"];
    }
    parts {
        /// More.
        part: Part
    }
    extra {
        #[serde(skip)]
        kept: Option<String> = None
    }
}

fn word(text: &str) -> Value {
    Value::Word(text.into())
}

fn said(error: Error) -> String {
    error.to_string()
}

#[test]
fn a_declaration_lists_names_defaults_and_domains() {
    let list = Example::default().list();
    let names: Vec<&str> = list.iter().map(|parameter| parameter.name).collect();
    assert_eq!(names, ["kernel", "degree", "graph_reg", "memory", "bias", "slack"]);
    let defaults: Vec<String> = list.iter().map(|parameter| parameter.default.to_string()).collect();
    assert_eq!(defaults, ["rbf", "3", "auto", "none", "false", "0"]);
    let expected: Vec<String> = list.iter().map(|parameter| parameter.domain.expected()).collect();
    assert_eq!(
        expected,
        [
            "one of rbf, poly",
            "a whole number of at least 1 and at most 100",
            "a number above 0, inf, or auto",
            "a number of bytes of at least 1, or none",
            "true or false",
            "a number of at least 0 and below 1",
        ]
    );
    assert_eq!(list[2].summary(), "Weight of smoothness: the larger, the smoother");
    assert_eq!(list[1].domain.range.interval(), "[1, 100]");
    assert_eq!(list[0].domain.words[1].1, "A power of the product.");
}

#[test]
fn values_go_in_and_come_out_by_name() {
    let mut example = Example::default();
    for (name, value, shown) in [
        ("kernel", word("poly"), "poly"),
        ("degree", Value::Real(4.0), "4"),
        ("graph_reg", word("inf"), "inf"),
        ("memory", Value::Count(1 << 30), "1073741824"),
        ("bias", Value::Flag(true), "true"),
        ("slack", Value::Count(0), "0"),
    ] {
        example.set(name, &value).unwrap();
        assert_eq!(example.get(name).unwrap().to_string(), shown, "{name}");
    }
    example.set("graph_reg", &word("auto")).unwrap();
    assert_eq!((example.graph_reg, example.degree), (None, 4));
    example.set("memory", &Value::None).unwrap();
    assert_eq!((example.memory, example.get("memory")), (None, Some(word("none"))));
    assert_eq!(example.get("kept"), None);
}

#[test]
fn what_does_not_fit_is_named() {
    let mut example = Example::default();
    let mut refused = |name: &str, value: Value| said(example.set(name, &value).unwrap_err());
    assert_eq!(refused("kernel", word("sigmoid")), "kernel is 'sigmoid'; expected one of rbf, poly");
    assert_eq!(
        refused("degree", Value::Real(1.5)),
        "degree is 1.5; expected a whole number of at least 1 and at most 100"
    );
    assert_eq!(
        refused("graph_reg", word("automatic")),
        "graph_reg is 'automatic'; expected a number above 0, inf, or auto"
    );
    assert_eq!(refused("bias", Value::Count(1)), "bias is 1; expected true or false");
    assert_eq!(
        refused("degre", Value::None),
        "parameter is 'degre'; expected a known parameter; the nearest is degree"
    );
    assert!(refused("x", Value::None).ends_with("expected one of kernel, degree, graph_reg, memory, bias, slack"));
    for (name, value, text) in [
        ("degree", Value::Count(101), "degree is 101; expected"),
        ("graph_reg", Value::Real(f64::NAN), "graph_reg is NaN; expected"),
        ("graph_reg", Value::Real(0.0), "graph_reg is 0; expected"),
        ("slack", Value::Real(1.0), "slack is 1; expected a number of at least 0 and below 1"),
    ] {
        let mut example = Example::default();
        example.set(name, &value).unwrap();
        assert!(said(example.check_ranges().unwrap_err()).starts_with(text), "{name}");
    }
    Example { graph_reg: Some(f64::INFINITY), ..Example::default() }.check_ranges().unwrap();
}

#[test]
fn conditions_say_what_has_an_effect() {
    let mut example = Example::default();
    let list = example.list();
    let has = |example: &Example, place: usize| list[place].has_effect(|name| example.get(name));
    assert!(!has(&example, 1) && has(&example, 4) && has(&example, 2));
    example.kernel = Kernel::Poly;
    assert!(has(&example, 1));
    assert_eq!(list[1].needs(str::to_owned).unwrap(), "kernel poly");
    let needs = list[4].needs(|name| format!("--{name}")).unwrap();
    assert_eq!(needs, "--degree a number, or --kernel rbf or poly and --graph_reg a number");
    assert_eq!(list[2].needs(str::to_owned), None);
}

#[test]
fn values_are_typed_as_texts() {
    let list = Example::default().list();
    let parse = |place: usize, text: &str| Value::parse(text, &list[place].domain);
    assert_eq!(parse(0, "poly"), Ok(word("poly")));
    assert_eq!(parse(1, "2"), Ok(Value::Count(2)));
    assert_eq!((parse(2, "auto"), parse(2, "1e-3")), (Ok(word("auto")), Ok(Value::Real(1e-3))));
    assert_eq!((parse(3, "none"), parse(3, "2k")), (Ok(word("none")), Ok(Value::Count(2048))));
    assert_eq!(parse(4, "false"), Ok(Value::Flag(false)));
    for (place, text) in [(0, "x"), (1, "-1"), (2, "automatic"), (3, "many"), (4, "yes")] {
        assert!(parse(place, text).unwrap_err().starts_with("expected "), "{text}");
    }
}

#[test]
fn json_carries_every_value() {
    let values = [
        (Value::None, json!(null)),
        (Value::Flag(true), json!(true)),
        (Value::Count(7), json!(7)),
        (Value::Real(0.5), json!(0.5)),
        (word("auto"), json!("auto")),
        (Value::List(vec![0.25, 0.75]), json!([0.25, 0.75])),
    ];
    for (value, json) in values {
        assert_eq!(value.to_json(), json);
        assert_eq!(Value::from_json("x", &json).unwrap(), value);
    }
    assert_eq!(Value::Real(f64::INFINITY).to_json(), json!("inf"));
    assert!(said(Value::from_json("x", &json!({})).unwrap_err()).starts_with("x is {}; expected null, true"));
    let example: Example = serde_json::from_value(json!({"kernel": "poly", "part": {"slack": 0.5}})).unwrap();
    assert_eq!((example.kernel, example.part.slack, example.degree), (Kernel::Poly, 0.5, 3));
    assert!(serde_json::from_value::<Example>(json!({"kernal": "poly"})).unwrap_err().to_string().contains("kernal"));
}

#[test]
fn several_are_set_together() {
    let mut example = Example::default();
    let degree = Value::Count(2);
    set_all(&mut example, [("degree", &degree), ("kernel", &word("poly"))]).unwrap();
    assert_eq!((example.degree, example.kernel), (2, Kernel::Poly));
    assert!(said(set_all(&mut example, [("kernl", &degree)]).unwrap_err()).contains("the nearest is kernel"));
}
