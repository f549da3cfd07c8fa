import type { Invocation } from "../app/invocation.ts";
import { openNamedSession } from "../app/session-file.ts";
import { sessionOutline, sessionTree, treeRows } from "../app/session-tree.ts";
import { treeView } from "../app/tree-view.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const tree = sessionTree(session, sessionOutline(session));
  const { output, options } = invocation;
  await output.list(
    () => treeRows(tree),
    () => treeView({ tree, leafId: session.leafId, width: output.width, all: options.all === true }),
  );
}
