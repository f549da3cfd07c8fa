import { shownPath } from "../session-tree.ts";

export function Context() {
  return <section aria-label="Context">{shownPath.value.length} entries</section>;
}
