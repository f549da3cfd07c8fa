import { sessionTree } from "../../session-tree.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { labelEntry } from "./label-entry.ts";
import type { TreeFilter } from "./tree-filter.ts";
import { TreeModel } from "./tree-model.ts";
import { treeOutline } from "./tree-outline.ts";
import { TreePanel } from "./tree-panel.ts";

/** The tree of the session as it is now. */
export function openTreeModel(work: InteractiveWork, filter: TreeFilter): TreeModel {
  const { session } = work.host.agent;
  return new TreeModel({ tree: sessionTree(session, treeOutline(session)), leafId: session.leafId, filter });
}

export interface PickEntryOptions {
  title: string;
  /** What Enter does, in a word. */
  choice: string;
  /** Default true. */
  canLabel?: boolean;
}

/** Shows the tree until an entry is chosen; undefined where the user left. The model keeps where the user was. */
export async function pickEntry(
  work: InteractiveWork,
  model: TreeModel,
  { title, choice, canLabel = true }: PickEntryOptions,
): Promise<number | undefined> {
  const { screen, host } = work;
  let panel: TreePanel | undefined;
  const onLabel = async (at: number) => {
    const { id } = model.entryAt(at);
    const label = await labelEntry(work, { id, present: model.labelOf(at) });
    if (label === undefined) return;
    model.setLabel(at, label === "" ? undefined : label);
    panel?.changed();
  };
  try {
    return await screen.show<number>((done) => {
      panel = new TreePanel({
        screen,
        model,
        title,
        choice,
        now: host.workshop.call.io.now,
        done,
        ...(canLabel ? { onLabel } : {}),
      });
      return panel;
    });
  } finally {
    panel?.close();
  }
}
