import type { InteractiveWork } from "../interactive-work.ts";
import { alreadyHere, navigateFlow } from "./navigate-flow.ts";
import { openTreeModel, pickEntry } from "./pick-entry.ts";
import { askSummary } from "./summary-question.ts";
import type { TreeModel } from "./tree-model.ts";

/** `/tree`: shows the tree, and goes where the user wants to. */
export async function openTree(work: InteractiveWork): Promise<void> {
  const model = openTreeModel(work, "default");
  const { letGo } = work.screen;
  while (!letGo.aborted) {
    const at = await pickEntry(work, model, { title: "Session tree", choice: "go there" });
    if (at === undefined) return;
    if (model.isHere(at)) {
      work.tell({ level: "info", message: alreadyHere });
      return;
    }
    if (await goTo(work, model, at)) return;
  }
}

/** @returns false where the user went back to the tree, by Esc at the question */
async function goTo(work: InteractiveWork, model: TreeModel, at: number): Promise<boolean> {
  const { id } = model.entryAt(at);
  if (!model.leavesWork(at)) return navigateFlow(work, id, {});
  for (let hasFailed = false; ; hasFailed = true) {
    const options = await askSummary(work, { hasFailed });
    if (options === undefined) return false;
    if (await navigateFlow(work, id, options)) return true;
  }
}
