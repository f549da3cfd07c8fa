import type { Invocation } from "../invocation.ts";
import { treeRows } from "../reports/tree-row.ts";
import { openNamedSession } from "../session-file.ts";
import { sessionOutline } from "../session-outline.ts";
import { sessionTree } from "../session-tree.ts";
import { treeView } from "../views/tree-view.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const tree = sessionTree(session, sessionOutline(session));
  const { output, options } = invocation;
  await output.list(
    () => treeRows(tree),
    () => treeView({ tree, leafId: session.leafId, width: output.width, all: options.all === true }),
  );
}
