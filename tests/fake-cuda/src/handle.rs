//! Handles: never pointers, never reused, so that a stale or foreign one is always told from a live one.

/// A table of objects under handles that carry the table's tag.
#[derive(Debug)]
pub(crate) struct Table<T> {
    tag: u64,
    rows: Vec<Option<T>>,
    live: usize,
}

const SHIFT: u32 = 8;
const TAG_SHIFT: u32 = 40;

impl<T> Table<T> {
    /// An empty table whose handles bear `tag`.
    pub(crate) const fn new(tag: u64) -> Self {
        Self { tag, rows: Vec::new(), live: 0 }
    }

    /// Puts in an object.
    pub(crate) fn insert(&mut self, value: T) -> u64 {
        self.rows.push(Some(value));
        self.live += 1;
        (self.tag << TAG_SHIFT) | ((self.rows.len() as u64) << SHIFT)
    }

    fn row(&self, handle: u64) -> Option<usize> {
        let index = (handle & ((1 << TAG_SHIFT) - 1)) >> SHIFT;
        (handle >> TAG_SHIFT == self.tag && handle.trailing_zeros() >= SHIFT && index > 0).then(|| index as usize - 1)
    }

    /// The object.
    #[inline]
    pub(crate) fn get(&self, handle: u64) -> Option<&T> {
        self.rows.get(self.row(handle)?)?.as_ref()
    }

    /// The object.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        let row = self.row(handle)?;
        self.rows.get_mut(row)?.as_mut()
    }

    /// Takes the object out; its handle is dead from now on.
    pub(crate) fn remove(&mut self, handle: u64) -> Option<T> {
        let row = self.row(handle)?;
        let value = self.rows.get_mut(row)?.take();
        self.live -= usize::from(value.is_some());
        value
    }

    /// Handles and objects.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let tag = self.tag << TAG_SHIFT;
        self.rows.iter().enumerate().filter_map(move |(i, row)| Some((tag | ((i as u64 + 1) << SHIFT), row.as_ref()?)))
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn stale_foreign_and_small_handles_are_told_apart() {
        let (mut a, mut b) = (Table::new(1), Table::new(2));
        let (first, other) = (a.insert('x'), b.insert('y'));
        assert_eq!(a.remove(first), Some('x'));
        let second = a.insert('z');
        assert_ne!(first, second);
        assert_eq!(a.get(first), None);
        assert_eq!(a.get(other), None);
        for small in 0..3 {
            assert_eq!(a.get(small), None);
        }
        assert_eq!(a.get(second), Some(&'z'));
        assert_eq!(a.len(), 1);
    }
}
