// Two servers of a shootout beside each other. Which one is ahead is written in the rankings; here it is only looked up.

import { make } from "./figures";

/** Fills in the table for the two that are picked, from now on. */
export function pair(section: HTMLElement): void {
  const form = section.querySelector("form")!;
  const [a, b] = [...form.querySelectorAll("select")] as [HTMLSelectElement, HTMLSelectElement];
  const body = section.querySelector("tbody")!;
  const [headA, headB] = section.querySelectorAll<HTMLElement>("thead .number");
  const questions = [...document.querySelectorAll<HTMLElement>("details.question")];
  const apply = () => {
    headA!.textContent = a.value;
    headB!.textContent = b.value;
    const answers = questions.map((question) => answer(question, a.value, b.value));
    body.replaceChildren(...answers.map(row));
    section.querySelector("[role=status]")!.textContent = summary(answers, a.value, b.value);
  };
  b.selectedIndex = Math.min(1, b.options.length - 1);
  section.hidden = b.options.length < 2;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}

interface Answer {
  question: HTMLElement;
  figures: [string, string];
  /** The server that is ahead, "tie", or "unclear" where one of them has no place. */
  ahead: string;
}

function answer(question: HTMLElement, a: string, b: string): Answer {
  const rows = [...question.querySelectorAll<HTMLElement>(".ranking li")];
  const find = (server: string) => rows.findIndex((row) => row.dataset.server === server);
  const [atA, atB] = [find(a), find(b)];
  const figure = (at: number) => rows[at]?.querySelector(".figure")!.textContent ?? "not measured";
  const isAhead = (at: number, of: number) => rows[at]!.dataset.aheadOf!.split(" ").includes(String(of));
  const isPlaced = (at: number) => at >= 0 && !rows[at]!.classList.contains("unranked");
  const ahead = () => {
    if (!isPlaced(atA) || !isPlaced(atB)) return "unclear";
    if (isAhead(atA, atB)) return a;
    return isAhead(atB, atA) ? b : "tie";
  };
  return { question, figures: [figure(atA), figure(atB)], ahead: ahead() };
}

function row({ question, figures, ahead }: Answer): HTMLElement {
  const link = make("a", { href: `#${question.id}`, textContent: question.dataset.short! });
  const head = make("th", { scope: "row" });
  head.append(link);
  const cells = figures.map((textContent) => make("td", { className: "number", textContent }));
  const element = make("tr", {});
  element.append(head, make("td", { textContent: ahead }), ...cells);
  return element;
}

function summary(answers: Answer[], a: string, b: string): string {
  if (a === b) return "Pick two different servers.";
  const times = (ahead: string) => answers.filter((answer) => answer.ahead === ahead).length;
  const [wonByA, wonByB, ties] = [times(a), times(b), times("tie")];
  const rest = answers.length - wonByA - wonByB - ties;
  const parts = [`${a} is ahead in ${wonByA}`, `${b} in ${wonByB}`, `${ties} tied`];
  if (rest > 0) parts.push(`${rest} unclear, as one of them has no place`);
  const asked = answers.length === 1 ? "1 question" : `${answers.length} questions`;
  return `Of ${asked}: ${parts.join(", ")}.`;
}
