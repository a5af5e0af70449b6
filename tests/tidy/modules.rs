//! The modules that each module of a crate uses: by `use`, at the top of a file or within a function, and by
//! paths written in place.
//!
//! Rules. A path belongs to the module that has what it names, however many `use`s hand it on. Each folder is
//! looked at by itself: its files, its folders, and the file of the folder itself (`[it]` below) are nodes,
//! and what anything in one of them uses of anything in another is an edge. So two files of a folder are no
//! ring, but two folders that use each other are one, by whichever of their files; and a module that uses
//! something of the one around it must not be used by that. Tests may use what they like.

mod tests;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module's path within its crate; the crate itself is empty.
pub(crate) type Module = Vec<String>;

/// The modules of a crate, by their paths.
pub(crate) struct Modules(BTreeMap<Module, Source>);

/// The contents of one file.
#[derive(Default)]
struct Source {
    /// Every path in it, as it is written.
    paths: BTreeSet<Module>,
    /// Names that `use` brings in: the name here, and the path.
    names: BTreeMap<String, Module>,
    /// Modules of which `use` brings in everything.
    globs: Vec<Module>,
    /// Modules that only tests have.
    test_modules: BTreeSet<String>,
    /// Types defined here.
    types: BTreeSet<String>,
    /// Types with a block of methods here.
    impls: BTreeSet<Module>,
}

impl Modules {
    /// Reads a crate: its files by their paths below `src/`.
    pub(crate) fn read<'a>(files: impl Iterator<Item = (&'a str, String)>) -> Self {
        let module_of = |file: &str| -> Module {
            let names = file.strip_suffix(".rs").expect("a Rust file").split('/');
            names.filter(|name| !["lib", "main", "mod"].contains(name)).map(str::to_owned).collect()
        };
        let mut modules: BTreeMap<Module, Source> =
            files.map(|(file, text)| (module_of(file), Source::read(file, &text))).collect();
        let is_test = |module: &Module| {
            (0..module.len()).any(|at| {
                let around = modules.get(&module[..at]);
                around.is_some_and(|around| around.test_modules.contains(&module[at]))
            })
        };
        let tests: Vec<Module> = modules.keys().filter(|module| is_test(module)).cloned().collect();
        for test in tests {
            modules.remove(&test);
        }
        Self(modules)
    }

    /// The rings: for each folder that has any, one.
    pub(crate) fn rings(&self) -> Vec<String> {
        let mut folders: BTreeMap<Module, BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
        for (module, source) in &self.0 {
            for used in source.paths.iter().filter_map(|path| self.home(module, path)) {
                if used == *module {
                    continue;
                }
                let common = module.iter().zip(&used).take_while(|(one, other)| one == other).count();
                let node = |module: &Module| module.get(common).cloned().unwrap_or("[it]".into());
                let edge = format!("{} uses {}", shown(module), shown(&used));
                let folder = folders.entry(module[..common].to_vec()).or_default();
                folder.entry(node(module)).or_default().entry(node(&used)).or_insert(edge);
            }
        }
        let ring_of = |(folder, edges): (&Module, &BTreeMap<String, BTreeMap<String, String>>)| {
            let ring = shortest_ring(edges)?;
            let edge = |k: usize| edges[&ring[k]][&ring[(k + 1) % ring.len()]].clone();
            let edges: Vec<String> = (0..ring.len()).map(edge).collect();
            Some(format!("{}: {}", shown(folder), edges.join(", ")))
        };
        folders.iter().filter_map(ring_of).collect()
    }

    /// Types whose methods are spread: a block of them lies neither in the type's folder nor in the one of
    /// its own name.
    pub(crate) fn strays(&self) -> Vec<String> {
        let mut strays = Vec::new();
        for (module, source) in &self.0 {
            for path in &source.impls {
                let name = path.last().expect("a type has a name");
                let Some(home) = self.home(module, path).filter(|home| self.0[home].types.contains(name))
                else {
                    continue;
                };
                let folder = &home[..home.len().saturating_sub(1)];
                let is_in = |folder: &[String]| module[..module.len().saturating_sub(1)] == *folder;
                if home != *module && !is_in(folder) && !is_in(&home) {
                    strays.push(format!("{} has methods of {}::{name}", shown(module), shown(&home)));
                }
            }
        }
        strays
    }

    /// Modules that name what is in one of a folder's folders, but are neither in that one nor at the door,
    /// which alone may name them all and hand on what they have.
    pub(crate) fn reach_into(&self, folder: &str, door: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (module, source) in self.0.iter().filter(|(module, _)| module.first().is_none_or(|m| m != door)) {
            let named = source.paths.iter().filter_map(|path| self.absolute(module, path));
            let is_foreign =
                |path: &Module| path.len() > 1 && path[0] == folder && !module.starts_with(&path[..2]);
            let foreign = named.filter(is_foreign);
            found.extend(foreign.map(|path| format!("{} names {}", shown(module), path[..2].join("::"))));
        }
        found
    }

    /// The module that has what a path in `module` names; `None`: another crate.
    fn home(&self, module: &Module, path: &Module) -> Option<Module> {
        let mut path = self.absolute(module, path)?;
        // Names are handed on by a handful of modules at the most; two globs could hand them round for ever.
        for _ in 0..8 {
            let end = (0..=path.len()).rev().find(|&end| self.0.contains_key(&path[..end]))?;
            let (found, rest) = (path[..end].to_vec(), &path[end..]);
            let source = &self.0[&found];
            let Some(name) = rest.first().filter(|name| !source.types.contains(*name)) else {
                return Some(found);
            };
            if let Some(handed) = source.names.get(name) {
                let handed = self.absolute(&found, handed)?;
                path = [handed.as_slice(), &rest[1..]].concat();
                continue;
            }
            let mut globs = source.globs.iter().filter_map(|glob| self.absolute(&found, glob));
            let has = |glob: &Module| self.0.get(glob).is_some_and(|source| source.has(name));
            match globs.find(has) {
                Some(glob) => path = [glob.as_slice(), rest].concat(),
                None => return Some(found),
            }
        }
        None
    }

    /// The path within the crate that a path in a module stands for; `None` if it is another crate's.
    fn absolute(&self, module: &Module, path: &Module) -> Option<Module> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let below = |first: &[String], rest: &[String]| [first, rest].concat();
        let child = |name: &String| self.0.contains_key(&below(module, std::slice::from_ref(name)));
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some(below(module, &path[1..])),
            "super" => Some(below(&module[..module.len().checked_sub(supers)?], &path[supers..])),
            _ if child(&path[0]) => Some(below(module, path)),
            name => {
                let source = self.0.get(module)?;
                if source.types.contains(name) {
                    return Some(below(module, path));
                }
                // A crate that is brought in under its own name.
                let brought = source.names.get(name).filter(|brought| brought[0] != *name)?;
                Some(below(&self.absolute(module, brought)?, &path[1..]))
            }
        }
    }
}

impl Source {
    fn read(file: &str, text: &str) -> Self {
        let mut source = Self::default();
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        source.read_tokens(tokens.clone(), 0);
        let syntax: syn::File = syn::parse2(tokens).unwrap_or_else(|error| panic!("{file}: {error}"));
        for item in &syntax.items {
            match item {
                syn::Item::Struct(item) => _ = source.types.insert(item.ident.to_string()),
                syn::Item::Enum(item) => _ = source.types.insert(item.ident.to_string()),
                syn::Item::Union(item) => _ = source.types.insert(item.ident.to_string()),
                syn::Item::Impl(syn::ItemImpl { trait_: None, self_ty, .. }) => {
                    if let syn::Type::Path(path) = &**self_ty {
                        let names = path.path.segments.iter().map(|segment| segment.ident.to_string());
                        source.impls.insert(names.collect());
                    }
                }
                _ => {}
            }
        }
        source
    }

    fn has(&self, name: &str) -> bool {
        self.types.contains(name) || self.names.contains_key(name)
    }

    /// Reads what lies within as many `mod name { ... }` of this file as `depth` says.
    fn read_tokens(&mut self, tokens: TokenStream, depth: usize) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at..] {
                [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] if hash.as_char() == '#' => {
                    at += 2;
                    if attribute.stream().to_string().replace(' ', "") == "cfg(test)" {
                        at += self.skip_item(&tokens[at..]);
                    }
                }
                // Who may see something is no use of them.
                [TokenTree::Ident(word), TokenTree::Group(_), ..] if *word == "pub" => at += 2,
                [TokenTree::Ident(word), ..] if *word == "use" => {
                    let end =
                        (at..tokens.len()).find(|&end| is_punct(&tokens[end], ';')).unwrap_or(tokens.len());
                    self.read_use(&tokens[at + 1..end], &Module::new(), depth);
                    at = end;
                }
                [TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(inside), ..]
                    if *word == "mod" =>
                {
                    self.read_tokens(inside.stream(), depth + 1);
                    at += 3;
                }
                [TokenTree::Ident(_), ..] => {
                    let path = path_of(&tokens[at..]);
                    at += 3 * path.len() - 2;
                    if path.len() > 1 {
                        self.paths.insert(outward(path, depth));
                    }
                }
                [TokenTree::Group(group), ..] => {
                    self.read_tokens(group.stream(), depth);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// How many tokens the item has that comes next, which only tests have.
    fn skip_item(&mut self, tokens: &[TokenTree]) -> usize {
        let is_end = |token: &TokenTree| match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            token => is_punct(token, ';'),
        };
        let end = tokens.iter().position(is_end).map_or(tokens.len(), |end| end + 1);
        // Whatever its visibility says.
        if let [.., TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(_)] = &tokens[..end]
            && *word == "mod"
        {
            self.test_modules.insert(name.to_string());
        }
        end
    }

    /// Reads one branch of a `use`, or several in a group.
    fn read_use(&mut self, tokens: &[TokenTree], before: &Module, depth: usize) {
        let mut path = before.clone();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if *word == "as" => {
                    let name = tokens[at + 1].to_string();
                    return self.bring_in(name, outward(path, depth));
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Group(group) => {
                    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                    for branch in
                        tokens.split(|token| is_punct(token, ',')).filter(|branch| !branch.is_empty())
                    {
                        self.read_use(branch, &path, depth);
                    }
                    return;
                }
                token if is_punct(token, '*') => {
                    let path = outward(path, depth);
                    self.paths.insert(path.clone());
                    self.globs.push(path);
                    return;
                }
                _ => {}
            }
        }
        if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        self.bring_in(path.last().cloned().unwrap_or_default(), outward(path, depth));
    }

    fn bring_in(&mut self, name: String, path: Module) {
        self.paths.insert(path.clone());
        // What a module within the file takes from the file is known there already.
        if path != ["self", name.as_str()] {
            self.names.insert(name, path);
        }
    }
}

/// A path as the file's own module would write it: within as many `mod name { ... }` as `depth` says, the
/// first `super`s are the file itself.
fn outward(path: Module, depth: usize) -> Module {
    let within = path.iter().take_while(|name| *name == "super").count().min(depth);
    match &path[within..] {
        rest if within == 0 || rest.first().is_some_and(|name| name == "super") => rest.to_vec(),
        rest => [&["self".to_owned()], rest].concat(),
    }
}

/// The path that tokens begin with: one name at least.
fn path_of(tokens: &[TokenTree]) -> Module {
    let mut path = vec![tokens[0].to_string()];
    let mut rest = &tokens[1..];
    while let [one, other, TokenTree::Ident(name), after @ ..] = rest
        && is_punct(one, ':')
        && is_punct(other, ':')
    {
        path.push(name.to_string());
        rest = after;
    }
    path
}

fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

fn shown(module: &Module) -> String {
    if module.is_empty() { "the crate itself".into() } else { module.join("::") }
}

/// The shortest ring of a graph, if it has one.
fn shortest_ring(edges: &BTreeMap<String, BTreeMap<String, String>>) -> Option<Vec<String>> {
    let next = |node: &String| edges.get(node).into_iter().flat_map(|edges| edges.keys());
    let ring_through = |start: &String| {
        let mut ways = vec![vec![start.clone()]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                for node in next(way.last().expect("ways have a start")) {
                    if node == start {
                        return Some(way);
                    }
                    if seen.insert(node.clone()) {
                        longer.push([way.as_slice(), std::slice::from_ref(node)].concat());
                    }
                }
            }
            ways = longer;
        }
        None
    };
    edges.keys().filter_map(ring_through).min_by_key(Vec::len)
}
