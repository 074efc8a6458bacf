//! Texts put together while the program compiles: names of arrays and generic structs, C declarations, messages.

use std::{fmt, slice};

/// A piece of a [`Text`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// As it stands.
    Str(&'static str),
    /// In decimal.
    Number(i128),
    /// As part of a C identifier: what cannot stand in one becomes `_`.
    Ident(&'static str),
    /// In decimal as part of a C identifier: `m5` for -5.
    IdentNumber(i128),
}

/// What a [`Text`] of a type is for: a type can have one of each.
#[doc(hidden)]
#[allow(missing_docs, missing_debug_implementations)]
pub mod kind {
    pub enum Name {}
    pub enum CName {}
    pub enum CDims {}
    pub enum CDecl {}
}

/// A text made of parts.
///
/// An associated constant cannot have an array whose length depends on type parameters, so there are arrays of fixed
/// lengths, and the smallest that is large enough is used. The others are not made: each is named in a function of its own,
/// which the compiler looks into only when it is called.
#[doc(hidden)]
pub trait Text<Kind = ()> {
    /// What the text is made of.
    const PARTS: &'static [Part];
    #[allow(missing_docs)]
    const LEN: usize = len(Self::PARTS);
    #[allow(missing_docs)]
    const SMALL: &'static [u8; 64] = &render(Self::PARTS, Self::LEN);
    #[allow(missing_docs)]
    const MEDIUM: &'static [u8; 2048] = &render(Self::PARTS, Self::LEN);
    #[allow(missing_docs)]
    const LARGE: &'static [u8; 1 << 17] = &render(Self::PARTS, Self::LEN);
    /// The text.
    const STR: &'static str = {
        let len = Self::LEN;
        let bytes: &'static [u8] = match len {
            0..=64 => small::<Self, Kind>(),
            65..=2048 => medium::<Self, Kind>(),
            _ => {
                assert!(len <= 1 << 17, "the C declaration of this type is longer than 128 KiB");
                large::<Self, Kind>()
            }
        };
        // SAFETY: parts are whole strings, or ASCII (`Part::write`), and `len` ends behind the last of them. Looking at each
        // byte again would be most of what a derive costs to compile.
        unsafe { str::from_utf8_unchecked(bytes.split_at(len).0) }
    };
}

const fn small<T: Text<Kind> + ?Sized, Kind>() -> &'static [u8] {
    T::SMALL
}

const fn medium<T: Text<Kind> + ?Sized, Kind>() -> &'static [u8] {
    T::MEDIUM
}

const fn large<T: Text<Kind> + ?Sized, Kind>() -> &'static [u8] {
    T::LARGE
}

impl Part {
    const fn len(self) -> usize {
        match self {
            Part::Str(text) | Part::Ident(text) => text.len(),
            Part::Number(number) | Part::IdentNumber(number) => {
                let mut len = if number < 0 { 2 } else { 1 };
                let mut rest = number.unsigned_abs() / 10;
                while rest > 0 {
                    len += 1;
                    rest /= 10;
                }
                len
            }
        }
    }

    const fn write(self, to: &mut [u8]) {
        match self {
            Part::Str(text) => to.copy_from_slice(text.as_bytes()),
            Part::Ident(text) => {
                let mut at = 0;
                while at < text.len() {
                    let byte = text.as_bytes()[at];
                    // The bytes of a non-ASCII letter become one `_` each.
                    to[at] = if byte.is_ascii_alphanumeric() { byte } else { b'_' };
                    at += 1;
                }
            }
            Part::Number(number) | Part::IdentNumber(number) => {
                let mut rest = number.unsigned_abs();
                let mut at = to.len();
                loop {
                    at -= 1;
                    to[at] = b'0' + (rest % 10) as u8;
                    rest /= 10;
                    if rest == 0 {
                        break;
                    }
                }
                if number < 0 {
                    to[0] = if matches!(self, Part::Number(_)) { b'-' } else { b'm' };
                }
            }
        }
    }
}

/// Length of the whole text in bytes.
const fn len(parts: &[Part]) -> usize {
    let mut sum = 0;
    let mut at = 0;
    while at < parts.len() {
        sum += parts[at].len();
        at += 1;
    }
    sum
}

/// The text, which has `len` bytes, if it fits; otherwise zeros.
const fn render<const N: usize>(parts: &[Part], len: usize) -> [u8; N] {
    let mut bytes = [0; N];
    if len <= N {
        let start = (&raw mut bytes).cast::<u8>();
        let (mut at, mut written) = (0, 0);
        while at < parts.len() {
            let part = parts[at];
            let len = part.len();
            assert!(len <= N - written, "the parts are longer than they said");
            // Most parts are whole strings, and to the compiler, which runs this for each type, a copy is cheaper than a slice.
            if let Part::Str(text) = part {
                // SAFETY: there is room (see above), and nothing else is borrowed from `bytes`.
                unsafe { start.add(written).copy_from_nonoverlapping(text.as_ptr(), len) };
            } else {
                // SAFETY: as above.
                part.write(unsafe { slice::from_raw_parts_mut(start.add(written), len) });
            }
            written += len;
            at += 1;
        }
    }
    bytes
}

/// A field of a struct, for [`check_element`] and [`check_device`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct FieldLayout {
    /// Its name.
    pub name: &'static str,
    /// `offset_of!`.
    pub offset: usize,
    /// `size_of`.
    pub size: usize,
    /// `align_of`.
    pub align: usize,
}

/// Stops the build with a text made of parts.
#[track_caller]
const fn stop(parts: &[Part]) -> ! {
    let len = len(parts);
    let bytes: [u8; 1024] = render(parts, len);
    let (text, _) = bytes.split_at(len);
    match str::from_utf8(text) {
        Ok(text) => panic!("{}", text),
        Err(_) => panic!("parts are whole strings"),
    }
}

/// What has to hold for every element.
#[track_caller]
pub(crate) const fn check_valid(name: &'static str, size: usize, align: usize) {
    check_align(name, align);
    if size == 0 {
        stop(&[Part::Str("`"), Part::Str(name), Part::Str("` has size 0, so a buffer of it would hold nothing")]);
    }
}

/// Proves that a struct with `#[derive(DType)]` has no padding, a size, and an alignment that devices have.
#[doc(hidden)]
#[track_caller]
pub const fn check_element(name: &'static str, size: usize, align: usize, fields: &[FieldLayout]) {
    check_valid(name, size, align);
    let mut sum = 0;
    let mut at = 0;
    while at < fields.len() {
        sum += fields[at].size;
        at += 1;
    }
    if size == sum {
        return;
    }
    let mut end = 0;
    let mut at = 0;
    // Fields of `repr(C)` lie in the order of their declaration.
    while at < fields.len() && fields[at].offset == end {
        end += fields[at].size;
        at += 1;
    }
    stop(&[
        Part::Str("`"),
        Part::Str(name),
        Part::Str("` has "),
        Part::Number((size - sum) as i128),
        Part::Str(" padding bytes, the first of them after field `"),
        Part::Str(fields[at.saturating_sub(1)].name),
        Part::Str("`; a copy would expose them: reorder the fields, or add fields (`pad: [u8; N]`) that fill the gaps"),
    ]);
}

/// Proves that a kernel's parameter of type `D` is the one that its PTX file has.
#[doc(hidden)]
#[track_caller]
pub const fn check_param<D>(
    kernel: &'static str,
    param: &'static str,
    file: &'static str,
    text: &'static str,
    size: usize,
    align: usize,
) {
    let (what, here, there) = if size_of::<D>() != size {
        (" has ", size_of::<D>(), size)
    } else if align_of::<D>() > align {
        (" is aligned to ", align_of::<D>(), align)
    } else {
        return;
    };
    stop(&[
        Part::Str("parameter `"),
        Part::Str(param),
        Part::Str("` of kernel `"),
        Part::Str(kernel),
        Part::Str("`"),
        Part::Str(what),
        Part::Number(here as i128),
        Part::Str(" bytes as it is declared, and "),
        Part::Number(there as i128),
        Part::Str(" in `"),
        Part::Str(file),
        Part::Str("`: `"),
        Part::Str(text),
        Part::Str("`"),
    ]);
}

/// Proves that a span of `T`, which can begin at any element, is aligned to what the PTX file says of a pointer.
#[doc(hidden)]
#[track_caller]
pub const fn check_pointee<T>(
    kernel: &'static str,
    param: &'static str,
    file: &'static str,
    text: &'static str,
    align: usize,
) {
    if align_of::<T>() >= align {
        return;
    }
    stop(&[
        Part::Str("parameter `"),
        Part::Str(param),
        Part::Str("` of kernel `"),
        Part::Str(kernel),
        Part::Str("` is a span of elements that are aligned to "),
        Part::Number(align_of::<T>() as i128),
        Part::Str(" bytes, and in `"),
        Part::Str(file),
        Part::Str("` it points to memory aligned to "),
        Part::Number(align as i128),
        Part::Str(": `"),
        Part::Str(text),
        Part::Str("`; a span can begin at any element: take an element of that alignment (`#[repr(C, align(N))]`)"),
    ]);
}

/// Proves that a device struct lies in memory as a C compiler lays it out.
#[doc(hidden)]
#[track_caller]
pub const fn check_device(name: &'static str, size: usize, align: usize, fields: &[FieldLayout]) {
    check_align(name, align);
    let mut end = 0usize;
    let mut widest = 1;
    let mut at = 0;
    while at < fields.len() {
        let field = fields[at];
        if field.offset != end.next_multiple_of(field.align) {
            stop(&[
                Part::Str("`"),
                Part::Str(name),
                Part::Str("."),
                Part::Str(field.name),
                Part::Str("` is not where C puts it"),
            ]);
        }
        end = field.offset + field.size;
        if field.align > widest {
            widest = field.align;
        }
        at += 1;
    }
    if size == 0 || size != end.next_multiple_of(widest) || align != widest {
        stop(&[Part::Str("`"), Part::Str(name), Part::Str("` has not the size and alignment that C gives it")]);
    }
}

#[track_caller]
const fn check_align(name: &'static str, align: usize) {
    if align > 16 {
        stop(&[
            Part::Str("`"),
            Part::Str(name),
            Part::Str("` has alignment "),
            Part::Number(align as i128),
            Part::Str(", but device memory and kernel parameters promise at most 16"),
        ]);
    }
}

/// Writes `Name { a: 1, b: 2.0 }`, or `Name(1, 2.0)` where the names of the fields are empty.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct PrintStruct<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    first: bool,
}

impl<'a, 'f> PrintStruct<'a, 'f> {
    /// Begins with the name of the struct.
    pub fn new(f: &'a mut fmt::Formatter<'f>, name: &str) -> Result<Self, fmt::Error> {
        f.write_str(name)?;
        Ok(PrintStruct { f, first: true })
    }

    /// Begins a field; `name` is empty in a tuple struct.
    pub fn field(&mut self, name: &str) -> Result<&mut fmt::Formatter<'f>, fmt::Error> {
        self.f.write_str(match (self.first, name.is_empty()) {
            (true, true) => "(",
            (true, false) => " { ",
            (false, _) => ", ",
        })?;
        self.first = false;
        if !name.is_empty() {
            write!(self.f, "{name}: ")?;
        }
        Ok(self.f)
    }

    /// Ends with `" }"` or `")"`.
    pub fn end(self, close: &str) -> fmt::Result {
        self.f.write_str(close)
    }
}
