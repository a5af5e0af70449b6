//! Two shootouts: do they rank the same servers in the same order?

use report::{Cell, Column, Table, TableFormat};
use suite::agreement::{self, Agreement};

use crate::exit::Failure;
use crate::verbs::shootout::Kept;

const COLUMNS: [Column; 5] = [
    Column::left("question", "question"),
    Column::right("servers in both", "servers"),
    Column::right("Kendall's τ", "tau"),
    Column::right("pairs told apart in both", "apart"),
    Column::left("the other way round", "reversed"),
];

/// How far they agree on each question that both have asked.
pub(super) fn table(a: &Kept, b: &Kept, format: TableFormat) -> Result<String, Failure> {
    let found = agreement::between(a.sections(), b.sections());
    if found.is_empty() {
        return Err(Failure::usage("A B", "these shootouts have no question in common"));
    }
    let mut table = Table::new(&COLUMNS);
    for Agreement { question, servers, tau, apart, reversed } in found {
        let count = |n: usize| Cell::Number(n as f64, n.to_string());
        let pairs = reversed.iter().map(|(ahead, behind)| format!("{ahead} and {behind}"));
        table.add(vec![
            Cell::Text(question),
            count(servers),
            Cell::number(tau, |tau| tau, |tau| format!("{tau:.2}")),
            count(apart),
            Cell::text((!reversed.is_empty()).then(|| pairs.collect::<Vec<_>>().join(", "))),
        ]);
    }
    Ok(table.render(format))
}
