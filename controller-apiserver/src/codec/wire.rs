//! The protobuf wire format: numbered fields, one after the other.

/// The fields of a message. Ends after the first that cannot be read.
#[derive(Debug)]
pub(super) struct Wire<'a>(pub(super) &'a [u8]);

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Content<'a> {
    pub(super) fn bytes(&self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("wrong wireType for a message or text".to_owned()),
        }
    }

    pub(super) fn text(&self) -> Result<String, String> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| "a text is not UTF-8".to_owned())?;
        Ok(text.to_owned())
    }

    pub(super) fn integer(&self) -> Result<i64, String> {
        match self {
            Self::Number(number) => Ok(i64::from_ne_bytes(number.to_ne_bytes())),
            _ => Err("wrong wireType for a number".to_owned()),
        }
    }

    pub(super) fn float(&self) -> Result<f64, String> {
        match self {
            Self::Fixed(bits) => Ok(f64::from_bits(*bits)),
            _ => Err("wrong wireType for a number".to_owned()),
        }
    }
}

impl<'a> Wire<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn fixed(&mut self, length: u64) -> Option<Content<'a>> {
        let bytes = self.take(length)?.iter().rev();
        Some(Content::Fixed(
            bytes.fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
        ))
    }

    fn field(&mut self) -> Option<(u64, Content<'a>)> {
        let tag = self.varint()?;
        let content = match tag & 7 {
            0 => Content::Number(self.varint()?),
            1 => self.fixed(8)?,
            2 => {
                let length = self.varint()?;
                Content::Bytes(self.take(length)?)
            }
            5 => self.fixed(4)?,
            _ => return None,
        };
        Some((tag >> 3, content))
    }
}

impl<'a> Iterator for Wire<'a> {
    type Item = Result<(u64, Content<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or_else(|| "unexpected EOF".to_owned());
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}
