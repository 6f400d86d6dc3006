//! A Pratt parser that calculates as it reads, so that a long sum needs no deep tree.

use lathe_guest::{Error, Result};

use crate::function::{self, Function};
use crate::number::Number;
use crate::token::{Placed, Reader, Token};

/// Bounds the recursion, and so the stack, which is 1 MiB in a component.
const MAX_DEPTH: usize = 100;

/// No model writes longer ones by itself.
const MAX_LENGTH: usize = 20_000;

/// Bounds the sum of [`Number::cost`] over all results. A unit takes up to 40 of fuel, and the host gives a call 200
/// million: running out of it is a worse way to learn of the limit.
const MAX_COST: usize = 5_000_000;

// How tightly operators bind.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const SIGN: u8 = 3;
const POWER: u8 = 4;

pub(crate) fn evaluate(text: &str) -> Result<Number> {
    if text.len() > MAX_LENGTH {
        return Err(Error::new(format!("the expression is longer than {MAX_LENGTH} bytes")));
    }
    let mut reader = Reader::new(text);
    let mut parser = Parser { next: reader.read()?, reader, depth: 0, cost: 0 };
    let number = parser.expression(SUM)?;
    match parser.next {
        Placed { token: Token::End, .. } => Ok(number),
        other => Err(unexpected(&other, "an operator")),
    }
}

struct Parser {
    reader: Reader,
    next: Placed,
    depth: usize,
    cost: usize,
}

impl Parser {
    fn take(&mut self) -> Result<Placed> {
        let next = self.reader.read()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn take_symbol(&mut self, symbol: char) -> Result<bool> {
        let found = self.next.token == Token::Symbol(symbol);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    /// What follows, up to the first operator that binds less than `least`.
    fn expression(&mut self, least: u8) -> Result<Number> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::new(format!("the expression is nested more than {MAX_DEPTH} deep")));
        }
        let mut left = self.operand()?;
        loop {
            let Token::Symbol(symbol) = self.next.token else { break };
            let (power, right_least) = match symbol {
                '+' | '-' => (SUM, SUM + 1),
                '*' | '/' | '%' => (PRODUCT, PRODUCT + 1),
                // From the right: 2^3^2 is 2^(3^2).
                '^' => (POWER, POWER),
                _ => break,
            };
            if power < least {
                break;
            }
            let at = self.take()?.at;
            let right = self.expression(right_least)?;
            let result = match symbol {
                '+' => left.add(&right),
                '-' => left.subtract(&right),
                '*' => left.multiply(&right),
                '/' => left.divide(&right),
                '%' => left.remainder(&right),
                _ => left.power(&right),
            };
            let steps = if symbol == '^' { left.steps(&right) } else { 1 };
            left = self.checked(result, steps, at)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// A number, a sign, a call or parentheses, with its factorial.
    fn operand(&mut self) -> Result<Number> {
        let placed = self.take()?;
        let number = match placed.token {
            Token::Number(number) => self.checked(Number::exact(number), 1, placed.at)?,
            // A sign takes the factorials and powers with it: -2^2 is -(2^2).
            Token::Symbol('-') => return Ok(self.expression(SIGN)?.negate()),
            Token::Symbol('+') => return self.expression(SIGN),
            Token::Symbol('(') => {
                let number = self.expression(SUM)?;
                self.close(placed.at)?;
                number
            }
            Token::Name(name) => {
                let function = function::named(&name).map_err(|error| place(placed.at, &error))?;
                self.call(function, placed.at)?
            }
            Token::Symbol(_) | Token::End => return Err(unexpected(&placed, "a number")),
        };
        if !self.take_symbol('!')? {
            return Ok(number);
        }
        if self.next.token == Token::Symbol('!') {
            // To some it is the factorial of the factorial, to others every other factor.
            return Err(place(placed.at, &"write (n!)! for the factorial of a factorial".into()));
        }
        self.checked(number.factorial(), 1, placed.at)
    }

    fn call(&mut self, function: &Function, at: usize) -> Result<Number> {
        if !self.take_symbol('(')? {
            return Err(place(
                at,
                &Error::new(format!("`{}` needs its arguments in parentheses", function.name)),
            ));
        }
        let mut arguments = vec![self.expression(SUM)?];
        while self.take_symbol(',')? {
            arguments.push(self.expression(SUM)?);
        }
        self.close(at)?;
        self.checked(function.call(&arguments), 1, at)
    }

    /// Says where an error is, and ends what gets too long.
    fn checked(&mut self, result: Result<Number>, steps: usize, at: usize) -> Result<Number> {
        let number = result.map_err(|error| place(at, &error))?;
        self.cost += steps * number.cost();
        if self.cost > MAX_COST {
            return Err(place(at, &"too many operations with large numbers".into()));
        }
        Ok(number)
    }

    fn close(&mut self, opened: usize) -> Result<()> {
        if self.take_symbol(')')? {
            return Ok(());
        }
        Err(unexpected(&self.next, &format!("`)` for what opened at character {opened}")))
    }
}

fn place(at: usize, error: &Error) -> Error {
    Error::new(format!("at character {at}: {error}"))
}

fn unexpected(placed: &Placed, expected: &str) -> Error {
    let found = match &placed.token {
        Token::Number(_) => "a number".to_owned(),
        Token::Name(name) => format!("`{name}`"),
        Token::Symbol(',') => "`,` (numbers are written without separators)".to_owned(),
        Token::Symbol(symbol) => format!("`{symbol}`"),
        Token::End => "the end".to_owned(),
    };
    place(placed.at, &Error::new(format!("expected {expected}, found {found}")))
}
