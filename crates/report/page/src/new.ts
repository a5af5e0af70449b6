// The form that starts a run: shows the fields of the verb that is chosen, and the command line it all comes to.

interface Preview {
  command?: string;
  problem?: string;
}

const DELAY_MS = 150;

/** Stands for an answer that did not come. */
const gone = (): Preview => ({ problem: "throng ui has ended: start it again" });

/** An answer without a preview says why, such as that its address has another token by now. */
async function read(response: Response): Promise<Preview> {
  if (response.ok) return (await response.json()) as Preview;
  return { problem: (await response.text()).trim() || `answer ${response.status}` };
}

export function preview(form: HTMLFormElement): void {
  const command = form.querySelector<HTMLElement>("#command")!;
  const problem = form.querySelector<HTMLElement>("#problem")!;
  let waiting: number | undefined;
  let asked = 0;
  const ask = async () => {
    const mine = (asked += 1);
    const query = new URLSearchParams(new FormData(form) as unknown as Record<string, string>);
    const answer = await fetch(`/new/command?${query}`).then(read).catch(gone);
    if (mine !== asked) return; // the form has changed meanwhile
    command.textContent = answer.command ?? "";
    problem.textContent = answer.problem ?? "";
  };
  const update = () => {
    const verb = new FormData(form).get("verb") as string;
    for (const label of form.querySelectorAll<HTMLElement>("[data-verbs]")) {
      label.hidden = !label.dataset.verbs!.split(" ").includes(verb);
    }
    for (const group of form.querySelectorAll<HTMLElement>(".group")) {
      group.hidden = !group.querySelector("label:not([hidden])");
    }
    clearTimeout(waiting);
    waiting = setTimeout(() => void ask(), DELAY_MS);
  };
  form.addEventListener("input", update);
  update();
}
