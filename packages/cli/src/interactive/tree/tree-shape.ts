import type { SessionTree } from "../../session-tree.ts";

export const none = -1;

/** Every entry of a tree in the order in which it is drawn, with its parent, as positions. */
export interface TreeShape {
  /** From the roots down, the active branch first. */
  readonly order: Int32Array;
  /** By position; `none` for a root. */
  readonly parents: Int32Array;
}

/** Lays a tree out in linear time, without recursion. */
export function treeShape(tree: SessionTree): TreeShape {
  const parents = new Int32Array(tree.entries.length).fill(none);
  const order: number[] = [];
  const stack = tree.roots.toReversed();
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    order.push(at);
    const children = tree.children(at);
    for (let index = children.length - 1; index >= 0; index -= 1) {
      parents[children[index]!] = at;
      stack.push(children[index]!);
    }
  }
  return { order: Int32Array.from(order), parents };
}
