import type { Invocation } from "@bonsai-agent/app/invocation";
import { openNamedSession } from "@bonsai-agent/app/session-file";
import { treeRows } from "@bonsai-agent/app/session-tree";
import { treeView } from "@bonsai-agent/app/tree-view";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const tree = session.tree({ isParsed: true });
  const { output, options } = invocation;
  await output.list(
    () => treeRows(tree),
    () => treeView({ tree, leafId: session.leafId, width: output.width, all: options.all === true }),
  );
}
