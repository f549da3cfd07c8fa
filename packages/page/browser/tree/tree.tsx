import { shownPath } from "../session-tree.ts";

export function Tree() {
  return <section aria-label="Tree">{shownPath.value.length} entries</section>;
}
