import type { Entry } from "@bonsai-agent/session";
import type { SessionTree } from "../../session-tree.ts";

/** A whole entry of a tree; undefined where its body is damaged, or the file is not there any more. */
export function readEntry(tree: SessionTree, at: number): Entry | undefined {
  try {
    return tree.entry(at) as Entry | undefined;
  } catch {
    // Whoever goes there is told why; a preview is not worth more than to say that it cannot be read.
    return undefined;
  }
}
