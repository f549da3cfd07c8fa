import { shownPath } from "../session-tree.ts";

export function Compaction() {
  return <section aria-label="Compaction">{shownPath.value.length} entries</section>;
}
