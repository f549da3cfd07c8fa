import { shownPath } from "../session-tree.ts";

export function Compare() {
  return <section aria-label="Compare">{shownPath.value.length} entries</section>;
}
