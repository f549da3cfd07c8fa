import { history } from "@bonsai-agent/testkit";
import { TreeModel } from "../../src/interactive/tree/tree-model.ts";

/** A session in the notation for histories, with its tree as one goes about in it; entries go by their names of there. */
export function treeOf(notation: string) {
  const { session, id, name } = history(notation);
  const tree = session.tree({ isParsed: true });
  const model = new TreeModel({ tree, leafId: session.leafId });
  const at = (entry: string) => tree.entries.findIndex((each) => each.id === id(entry));
  const nameAt = (position: number | undefined) =>
    position === undefined ? "nothing" : name(tree.entries[position]!.id);
  return {
    ...{ session, tree, model, at, nameAt },
    shown: () => model.rows.map(nameAt).join(" "),
    selected: () => nameAt(model.selected),
    goTo: (entry: string) => goTo(model, at(entry)),
    readAll: () => {
      while (model.searchProgress < 1) model.read(3);
      model.sift();
    },
  };
}

/** Goes to a row that is shown, by the arrows. */
export function goTo(model: TreeModel, at: number): void {
  model.move(model.rows.indexOf(at) - model.selectedRow);
}

/** Two branches below a1, the second one active; the first one branches once more. */
export const branchy = 'U"plan" A"planned" U"left" A ^a2 U"deep" A ^a2 U"deeper" A ^a1 U"right" A"done"';
