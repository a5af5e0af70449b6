// A shootout's filters: which servers are shown. Places stay those among all.

/** Shows what the form asks for, from now on. */
export function filters(form: HTMLFormElement): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-server]")];
  const servers = rows.filter((row) => row.matches("details.server"));
  const facts = new Map(servers.map((server) => [server.dataset.server, server.dataset]));
  const shown = form.elements.namedItem("shown") as HTMLOutputElement;
  const apply = () => {
    const asked = new FormData(form);
    const value = (name: string) => String(asked.get(name) ?? "");
    const words = value("library").trim().toLowerCase();
    const isAsked = (row: HTMLElement) => {
      const { server = "", language, library = "", protocols = "" } = facts.get(row.dataset.server) ?? row.dataset;
      return (value("language") === "" || language === value("language"))
        && (value("protocol") === "" || protocols.split(" ").includes(value("protocol")))
        && `${server} ${library}`.toLowerCase().includes(words);
    };
    for (const row of rows) row.hidden = !isAsked(row);
    const left = servers.filter((server) => !server.hidden).length;
    shown.textContent = left === servers.length ? `${left} servers` : `${left} of ${servers.length} servers`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
  openTarget();
  addEventListener("hashchange", openTarget);
}

/** A link to a server leads to what is inside. */
function openTarget(): void {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}
