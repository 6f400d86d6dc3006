//! The functions by name.

use dashu_int::ops::{Abs, Gcd, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use lathe_guest::{Error, Result};

use crate::number::{MAX_DIGITS, Number};

/// A function and how many arguments it takes.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    least: usize,
    most: usize,
    run: fn(&[Number]) -> Result<Number>,
}

const ANY: usize = usize::MAX;

#[rustfmt::skip]
const FUNCTIONS: [Function; 9] = [
    Function { name: "abs", least: 1, most: 1, run: |x| map(&x[0], |value| value.clone().abs()) },
    Function { name: "min", least: 1, most: ANY, run: |x| choose(x, |new, old| new < old) },
    Function { name: "max", least: 1, most: ANY, run: |x| choose(x, |new, old| new > old) },
    Function { name: "round", least: 1, most: 2, run: round },
    Function { name: "floor", least: 1, most: 1, run: |x| map(&x[0], |value| value.floor().into()) },
    Function { name: "ceil", least: 1, most: 1, run: |x| map(&x[0], |value| value.ceil().into()) },
    Function { name: "sqrt", least: 1, most: 1, run: |x| x[0].root() },
    Function { name: "gcd", least: 1, most: ANY, run: |x| fold("gcd", x, gcd) },
    Function { name: "lcm", least: 1, most: ANY, run: |x| fold("lcm", x, lcm) },
];

pub(crate) fn named(name: &str) -> Result<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name).ok_or_else(|| {
        let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        Error::new(format!("no function `{name}`; there are {}", names.join(", ")))
    })
}

impl Function {
    pub(crate) fn call(&self, arguments: &[Number]) -> Result<Number> {
        if (self.least..=self.most).contains(&arguments.len()) {
            return (self.run)(arguments);
        }
        let plural = if self.most == 1 { "" } else { "s" };
        Err(Error::new(format!("`{}` takes {} argument{plural}", self.name, self.most)))
    }
}

fn map(number: &Number, change: impl Fn(&RBig) -> RBig) -> Result<Number> {
    Number::new(change(&number.value), number.exact)
}

fn choose(numbers: &[Number], better: fn(&RBig, &RBig) -> bool) -> Result<Number> {
    let mut best = &numbers[0];
    for number in &numbers[1..] {
        if better(&number.value, &best.value) {
            best = number;
        }
    }
    // Which one it is hangs on all of them.
    Number::new(best.value.clone(), numbers.iter().all(|number| number.exact))
}

fn round(arguments: &[Number]) -> Result<Number> {
    let digits = match arguments.get(1) {
        None => 0,
        Some(digits) => {
            let digits = digits.whole("the second argument of `round`")?;
            let limit = || Error::new(format!("`round` takes -{MAX_DIGITS} to {MAX_DIGITS} digits"));
            isize::try_from(digits)
                .ok()
                .filter(|digits| digits.unsigned_abs() <= MAX_DIGITS)
                .ok_or_else(limit)?
        }
    };
    let shift = RBig::from(10u8).pow(digits);
    map(&arguments[0], |value| RBig::from((value * &shift).round()) / &shift)
}

fn fold(name: &str, numbers: &[Number], both: fn(UBig, UBig) -> UBig) -> Result<Number> {
    let what = format!("each argument of `{name}`");
    let mut result: Option<Number> = None;
    for number in numbers {
        let next = number.whole(&what)?.unsigned_abs();
        let (value, exact) = match &result {
            None => (next, number.exact),
            Some(result) => {
                (both(result.value.numerator().unsigned_abs(), next), result.exact && number.exact)
            }
        };
        result = Some(Number::new(IBig::from(value).into(), exact)?);
    }
    result.ok_or_else(|| Error::new(format!("`{name}` takes arguments")))
}

/// The library has no answer for two zeros.
fn gcd(left: UBig, right: UBig) -> UBig {
    if left.is_zero() && right.is_zero() { UBig::ZERO } else { left.gcd(right) }
}

fn lcm(left: UBig, right: UBig) -> UBig {
    if left.is_zero() || right.is_zero() {
        return UBig::ZERO;
    }
    let common = (&left).gcd(&right);
    left / common * right
}
