import type { InteractiveWork } from "../interactive-work.ts";
import { alreadyHere, navigateFlow } from "./navigate-flow.ts";
import { openTreeModel, pickEntry } from "./pick-entry.ts";
import { askSummary } from "./summary-question.ts";

/** `/tree`: shows the tree, and goes where the user wants to. */
export async function openTree(work: InteractiveWork): Promise<void> {
  if (work.host.agent.isBusy) {
    work.tell({
      level: "warning",
      message: "The agent is at work: press Esc to stop it, then open the tree.",
    });
    return;
  }
  const model = openTreeModel(work, "default");
  for (;;) {
    const at = await pickEntry(work, model, { title: "Session tree", choice: "go there" });
    if (at === undefined) return;
    if (model.isHere(at)) {
      work.tell({ level: "info", message: alreadyHere });
      return;
    }
    // Esc at the question leads back to the tree.
    const options = model.leavesWork(at) ? await askSummary(work) : {};
    if (options === undefined) continue;
    await navigateFlow(work, model.entryAt(at).id, options);
    return;
  }
}
