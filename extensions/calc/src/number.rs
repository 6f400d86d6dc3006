//! Numbers that know whether they are exact, and never grow without bound.

use dashu_int::ops::{Abs, BitTest, SquareRootRem, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use lathe_guest::{Error, Result};

use crate::decimal;

/// Of a numerator, of a denominator and of the decimals that are shown: no answer is longer than a model may read.
pub(crate) const MAX_DIGITS: usize = 5_000;

/// `MAX_DIGITS` in bits.
const MAX_BITS: usize = 16_610;

/// The last one within `MAX_DIGITS`.
const MAX_FACTORIAL: u32 = 1_775;

/// What an inexact number keeps. The 50 that are shown stay right over many operations.
const WORKING_DIGITS: usize = 100;

/// How many of them a difference may lose.
const LOST_DIGITS: usize = 40;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: RBig,
    pub(crate) exact: bool,
}

impl Number {
    pub(crate) fn exact(value: RBig) -> Result<Self> {
        Self::new(value, true)
    }

    pub(crate) fn new(value: RBig, exact: bool) -> Result<Self> {
        if value.numerator().bit_len().max(value.denominator().bit_len()) > MAX_BITS {
            return Err(Error::new(format!("the number has more than {MAX_DIGITS} digits")));
        }
        let value = if exact { value } else { decimal::rounded(&value, WORKING_DIGITS) };
        Ok(Self { value, exact })
    }

    /// About what it took to calculate: the time of a division grows with the square of the size, and to round is some
    /// work of its own.
    pub(crate) fn cost(&self) -> usize {
        let words = (self.value.numerator().bit_len() + self.value.denominator().bit_len()).div_ceil(32);
        words * words + if self.exact { 100 } else { 4_000 }
    }

    /// How many times that is for a power. The last two products of an exact one outweigh the others; those of an
    /// inexact one are all of a size.
    pub(crate) fn steps(&self, exponent: &Self) -> usize {
        if self.exact { 2 } else { 2 * exponent.value.numerator().bit_len() }
    }

    pub(crate) fn negate(self) -> Self {
        Self { value: -self.value, exact: self.exact }
    }

    pub(crate) fn add(&self, other: &Self) -> Result<Self> {
        let sum = Self::new(&self.value + &other.value, self.exact && other.exact)?;
        // What is left of two nearly equal numbers are the digits where they are wrong.
        let lost = || RBig::from(UBig::from(10u8).pow(LOST_DIGITS));
        if !sum.exact && sum.value.clone().abs() * lost() < self.value.clone().abs() {
            return Err(Error::new(format!(
                "the difference is too small for roots of {WORKING_DIGITS} digits"
            )));
        }
        Ok(sum)
    }

    pub(crate) fn subtract(&self, other: &Self) -> Result<Self> {
        self.add(&other.clone().negate())
    }

    pub(crate) fn multiply(&self, other: &Self) -> Result<Self> {
        Self::new(&self.value * &other.value, self.exact && other.exact)
    }

    pub(crate) fn divide(&self, other: &Self) -> Result<Self> {
        if other.value.is_zero() {
            return Err("division by zero".into());
        }
        Self::new(&self.value / &other.value, self.exact && other.exact)
    }

    /// With the sign of `other`: what is left after `floor(self / other)` times `other`.
    pub(crate) fn remainder(&self, other: &Self) -> Result<Self> {
        let whole = RBig::from(self.divide(other)?.value.floor());
        Self::new(&self.value - &other.value * whole, self.exact && other.exact)
    }

    /// By squares, so that the size is checked before it gets out of hand.
    pub(crate) fn power(&self, exponent: &Self) -> Result<Self> {
        let whole = exponent.whole("an exponent").map_err(|error| {
            if exponent.value.denominator() == &UBig::from(2u8) {
                "write sqrt(x) for x^(1/2)".into()
            } else {
                error
            }
        })?;
        let too_large = || Error::new(format!("the exponent {whole} is too large"));
        let mut left = u64::try_from(whole.unsigned_abs()).map_err(|_| too_large())?;
        let one = Self { value: RBig::ONE, exact: self.exact && exponent.exact };
        let mut base = if *whole < IBig::ZERO { one.divide(self)? } else { self.clone() };
        let mut product = one;
        while left > 0 {
            if left % 2 == 1 {
                product = product.multiply(&base)?;
            }
            left /= 2;
            if left > 0 {
                base = base.multiply(&base)?;
            }
        }
        Ok(product)
    }

    pub(crate) fn factorial(&self) -> Result<Self> {
        let whole = self.whole("the n of n!")?;
        let limit = || Error::new(format!("factorials go from 0! to {MAX_FACTORIAL}!"));
        let last = u32::try_from(whole).ok().filter(|last| *last <= MAX_FACTORIAL).ok_or_else(limit)?;
        Self::new(product(1, last).into(), self.exact)
    }

    /// Exact for squares of fractions; otherwise to `WORKING_DIGITS`.
    pub(crate) fn root(&self) -> Result<Self> {
        let (numerator, denominator) = (self.value.numerator(), self.value.denominator());
        let Ok(numerator) = UBig::try_from(numerator.clone()) else {
            return Err("the square root of a negative number".into());
        };
        let ((above, rest_above), (below, rest_below)) = (numerator.sqrt_rem(), denominator.sqrt_rem());
        if rest_above.is_zero() && rest_below.is_zero() {
            return Self::new(RBig::from_parts(above.into(), below), self.exact);
        }
        // A shift of the decimal point that leaves enough digits before it: 66 bits are less than 20 digits, of which
        // the root has half.
        let missing = WORKING_DIGITS + (denominator.bit_len() / 66 + 1) * 10;
        let shift = UBig::from(10u8).pow(missing);
        let (root, _) = (numerator * shift.sqr() / denominator).sqrt_rem();
        Self::new(decimal::rounded(&RBig::from_parts(root.into(), shift), WORKING_DIGITS), false)
    }

    /// The value, if it is a whole number.
    pub(crate) fn whole(&self, what: &str) -> Result<&IBig> {
        if self.value.is_int() {
            return Ok(self.value.numerator());
        }
        Err(Error::new(format!("{what} must be a whole number")))
    }
}

/// Of the numbers from `first` to `last`, by halves: large factors multiply faster than many small ones.
fn product(first: u32, last: u32) -> UBig {
    if last < first {
        return UBig::ONE;
    }
    if last == first {
        return first.into();
    }
    let middle = first.midpoint(last);
    product(first, middle) * product(middle + 1, last)
}
