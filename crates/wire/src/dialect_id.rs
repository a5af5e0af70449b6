//! The dialects that there are. The registry has the [`Facts`](crate::Facts) of each.

use serde::{Deserialize, Serialize};

macro_rules! dialect_ids {
    ($($id:ident: $module:ident, by $($dialect:ident)|+;)*) => {
        /// A dialect: a protocol with an app in one of its forms.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum DialectId {
            $($(
                #[doc = concat!("As the folder `", stringify!($module), "` has it.")]
                $dialect,
            )+)*
        }

        impl DialectId {
            /// Every dialect.
            pub const ALL: &'static [DialectId] = &[$($(DialectId::$dialect),+),*];
        }
    };
}

protocols!(dialect_ids);

/// The dialect that stands for all that share the paths which no other has, and a broadcast group.
pub(crate) const GROUP: DialectId = DialectId::Raw;
