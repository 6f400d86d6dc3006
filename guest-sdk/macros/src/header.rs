//! The arguments of the attribute.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Token};

/// What stands in the brackets of `#[extension(…)]`.
#[derive(Default)]
pub(crate) struct Header {
    pub(crate) name: Option<LitStr>,
    pub(crate) version: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
}

impl Parse for Header {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut header = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: LitStr = input.parse()?;
            let field = match key.to_string().as_str() {
                "name" => &mut header.name,
                "version" => &mut header.version,
                "description" => &mut header.description,
                _ => return Err(Error::new(key.span(), "expected `name`, `version` or `description`")),
            };
            if field.replace(value).is_some() {
                return Err(Error::new(key.span(), format!("`{key}` is there twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        header.check()?;
        Ok(header)
    }
}

impl Header {
    /// The host refuses other names; the compiler says so earlier.
    fn check(&self) -> Result<()> {
        let (name, span, hint) = match &self.name {
            Some(name) => (name.value(), name.span(), ""),
            // Not set when something other than Cargo runs the compiler.
            None => match std::env::var("CARGO_PKG_NAME") {
                Ok(name) => (name, Span::call_site(), "; write `#[extension(name = \"…\")]`"),
                Err(_) => return Ok(()),
            },
        };
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.is_empty() && name.chars().all(fits) {
            return Ok(());
        }
        let text = format!("`{name}` is no extension name: it takes `a-z`, `0-9` and `-`{hint}");
        Err(Error::new(span, text))
    }
}
