//! The words of an expression.

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use lathe_guest::{Error, Result};

use crate::number::MAX_DIGITS;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Number(RBig),
    Name(String),
    Symbol(char),
    End,
}

/// A token and the character where it starts, from 1.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) at: usize,
}

/// Reads one token after the other: what comes after an error costs nothing.
pub(crate) struct Reader {
    characters: Vec<char>,
    next: usize,
}

impl Reader {
    pub(crate) fn new(text: &str) -> Self {
        Self { characters: text.chars().collect(), next: 0 }
    }

    pub(crate) fn read(&mut self) -> Result<Placed> {
        self.skip(char::is_whitespace);
        let at = self.next + 1;
        let token = self.token().map_err(|error| Error::new(format!("at character {at}: {error}")))?;
        Ok(Placed { token, at })
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.next + ahead).copied()
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) -> &[char] {
        let start = self.next;
        while self.peek(0).is_some_and(&fits) {
            self.next += 1;
        }
        &self.characters[start..self.next]
    }

    fn token(&mut self) -> Result<Token> {
        let Some(first) = self.peek(0) else { return Ok(Token::End) };
        let point = first == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit());
        if first.is_ascii_digit() || point {
            return self.number();
        }
        if first.is_alphabetic() {
            let name = self.skip(|c| c.is_alphanumeric() || c == '_');
            return Ok(Token::Name(name.iter().collect()));
        }
        self.next += 1;
        Ok(Token::Symbol(match first {
            '*' if self.peek(0) == Some('*') => {
                self.next += 1;
                '^'
            }
            // As typeset text has them.
            '×' | '·' => '*',
            '÷' => '/',
            '−' => '-',
            '+' | '-' | '*' | '/' | '%' | '^' | '!' | '(' | ')' | ',' => first,
            _ => return Err(Error::new(format!("unexpected `{first}`"))),
        }))
    }

    fn number(&mut self) -> Result<Token> {
        let mut digits: String = self.skip(|c| c.is_ascii_digit()).iter().collect();
        let mut exponent = 0;
        if self.peek(0) == Some('.') {
            self.next += 1;
            let decimals = self.skip(|c| c.is_ascii_digit());
            digits.extend(decimals);
            exponent -= i64::try_from(decimals.len())?;
        }
        if matches!(self.peek(0), Some('e' | 'E')) {
            exponent += self.exponent()?;
        }
        if self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
            return Err("a number without separators and units is expected, such as 1200.5 or 6e23".into());
        }
        if digits.len() > MAX_DIGITS || exponent.unsigned_abs() > MAX_DIGITS as u64 {
            return Err(Error::new(format!("the number has more than {MAX_DIGITS} digits")));
        }
        let power = UBig::from(10u8).pow(usize::try_from(exponent.unsigned_abs())?);
        let digits: IBig = digits.parse()?;
        Ok(Token::Number(if exponent < 0 {
            RBig::from_parts(digits, power)
        } else {
            RBig::from(digits * power)
        }))
    }

    fn exponent(&mut self) -> Result<i64> {
        self.next += 1;
        let mut text = String::new();
        if let Some(sign @ ('+' | '-')) = self.peek(0) {
            text.push(sign);
            self.next += 1;
        }
        text.extend(self.skip(|c| c.is_ascii_digit()));
        // Nine digits are far over the limit and far from overflow.
        match text.len() {
            ..=10 => text.parse().map_err(|_| "digits are expected after the e of a number".into()),
            _ => Err("the exponent of the number is too large".into()),
        }
    }
}
