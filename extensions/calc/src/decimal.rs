//! Numbers as decimal digits.

use dashu_int::ops::{BitTest, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use serde::Serialize;

use crate::number::{MAX_DIGITS, Number};

/// Of a result that is not exact.
const SHOWN_DIGITS: usize = 50;

/// Up to so many zeros stand between the point and the digits of a result that is not exact.
const SHOWN_ZEROS: isize = 20;

/// The answer of the tool.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Shown {
    result: String,
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fraction: Option<String>,
}

pub(crate) fn show(number: &Number) -> Shown {
    let value = &number.value;
    if !number.exact {
        return Shown { result: approximate(value), exact: false, fraction: None };
    }
    match decimals(value.denominator()) {
        Some(decimals) => Shown { result: exact(value, decimals), exact: true, fraction: None },
        None => Shown { result: approximate(value), exact: false, fraction: Some(value.to_string()) },
    }
}

/// The nearest number of so many significant digits.
pub(crate) fn rounded(value: &RBig, digits: usize) -> RBig {
    if value.is_zero() {
        return RBig::ZERO;
    }
    let (mantissa, exponent) = scientific(value, digits);
    RBig::from(mantissa) * RBig::from(10u8).pow(exponent)
}

/// How many decimals a fraction with this denominator has, if they end within the limit.
fn decimals(denominator: &UBig) -> Option<usize> {
    let (mut rest, mut twos, mut fives) = (denominator.clone(), 0, 0);
    if let Some(count) = rest.remove(&UBig::from(2u8)) {
        twos = count;
    }
    if let Some(count) = rest.remove(&UBig::from(5u8)) {
        fives = count;
    }
    (rest == UBig::ONE && twos.max(fives) <= MAX_DIGITS).then_some(twos.max(fives))
}

fn exact(value: &RBig, decimals: usize) -> String {
    let shifted = value * RBig::from(ten(decimals));
    point(shifted.numerator(), decimals)
}

/// The digits of a number with the last `decimals` of them after the point.
fn point(number: &IBig, decimals: usize) -> String {
    let digits = number.unsigned_abs().to_string();
    let sign = if *number < IBig::ZERO { "-" } else { "" };
    if decimals == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, rest) = digits.split_at(digits.len() - decimals);
    format!("{sign}{whole}.{rest}")
}

fn approximate(value: &RBig) -> String {
    if value.is_zero() {
        return "0".to_owned();
    }
    let (mut mantissa, mut exponent) = scientific(value, SHOWN_DIGITS);
    let base = IBig::from(10u8);
    while (&mantissa % &base).is_zero() {
        mantissa /= &base;
        exponent += 1;
    }
    let length = (&mantissa).unsigned_abs().to_string().len();
    // Of the first digit.
    let magnitude = exponent + length.cast_signed() - 1;
    if magnitude >= SHOWN_DIGITS.cast_signed() || magnitude < -SHOWN_ZEROS {
        return format!("{}e{magnitude}", point(&mantissa, length - 1));
    }
    if exponent >= 0 {
        return point(&(mantissa * ten(exponent.unsigned_abs())), 0);
    }
    point(&mantissa, exponent.unsigned_abs())
}

/// The nearest whole number of so many digits that gives the value times a power of ten, and that power.
fn scientific(value: &RBig, digits: usize) -> (IBig, isize) {
    let (above, below) = (value.numerator().unsigned_abs(), value.denominator());
    // 30103 / 100000 is just over the decimal digits of a bit, so this is one off at most.
    let bits = above.bit_len().cast_signed() - below.bit_len().cast_signed();
    let mut exponent = bits * 30_103 / 100_000 - digits.cast_signed();
    let (least, most) = (ten(digits - 1), ten(digits));
    loop {
        let shift = ten(exponent.unsigned_abs());
        let (above, below) =
            if exponent < 0 { (&above * shift, below.clone()) } else { (above.clone(), below * shift) };
        // Halves away from zero.
        let mantissa = ((above << 1) + &below) / (below << 1);
        if mantissa >= most {
            exponent += 1;
        } else if mantissa < least {
            exponent -= 1;
        } else {
            return (value.sign() * IBig::from(mantissa), exponent);
        }
    }
}

fn ten(exponent: usize) -> UBig {
    UBig::from(10u8).pow(exponent)
}
