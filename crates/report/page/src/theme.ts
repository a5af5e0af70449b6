// Light and dark, as the system has it or as the reader chose; the charts take their colours from the style sheet.

export interface Colours {
  text: string;
  muted: string;
  line: string;
  surface: string;
  good: string;
  bad: string;
  doubt: string;
  /** From nothing to much. */
  scale: string[];
  /** Told apart by everybody: Okabe and Ito's, by their lightness on either ground. */
  series: string[];
}

const SERIES = 8;
const SCALE = 5;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

export function colours(): Colours {
  // What a variable comes to in this scheme is known only where it is used as a colour.
  const probe = document.body.appendChild(document.createElement("i"));
  const of = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const many = (name: string, n: number) => Array.from({ length: n }, (_, k) => of(`${name}-${k + 1}`));
  const found = {
    text: of("text"),
    muted: of("muted"),
    line: of("line"),
    surface: of("surface"),
    good: of("good"),
    bad: of("bad"),
    doubt: of("doubt"),
    scale: many("scale", SCALE),
    series: many("series", SERIES),
  };
  probe.remove();
  return found;
}

/** Makes the button work, and calls back when the colours have changed. */
export function watchTheme(button: HTMLButtonElement, changed: () => void): void {
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  const apply = () => {
    label();
    changed();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    apply();
  });
  prefersDark.addEventListener("change", apply);
  printInLight(changed);
  label();
}

/** Paper is white, whatever the screen is. */
function printInLight(changed: () => void): void {
  const root = document.documentElement;
  let before: string | undefined;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    changed();
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    changed();
  });
}
