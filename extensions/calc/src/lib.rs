//! Exact arithmetic for models, which are bad at it.

mod decimal;
mod function;
mod number;
mod parser;
mod token;

use decimal::Shown;
use lathe_guest::prelude::*;

#[derive(Default)]
struct Calc;

#[extension]
impl Extension for Calc {
    fn tools() -> Tools<Self> {
        Tools::new().with(Tool::new("evaluate", Self::evaluate).replay_safe())
    }
}

/// Evaluates an arithmetic expression exactly: integers of thousands of digits, decimals and fractions.
///
/// Operators: + - * / % ^ and n! (factorial), with parentheses. % is the remainder with the sign of its right side,
/// exponents are whole numbers. Functions: abs(x), min(a, b, …), max(a, b, …), round(x, digits), floor(x), ceil(x),
/// sqrt(x), gcd(a, b, …), lcm(a, b, …). Halves round away from zero. Where `exact` is false, `result` is rounded to 50
/// significant digits, and `fraction` is the exact value if there is one.
#[derive(Deserialize, JsonSchema)]
struct Evaluate {
    /// Such as (1.1 + 2.2) * 3 or 2^100 / 20!. Numbers like 1200, 0.5 or 6.02e23, without separators.
    expression: String,
}

impl Calc {
    fn evaluate(&mut self, Evaluate { expression }: Evaluate) -> Result<Shown, ToolError> {
        let number = parser::evaluate(&expression).map_err(ToolError::invalid)?;
        Ok(decimal::show(&number))
    }
}

#[cfg(test)]
mod tests;
