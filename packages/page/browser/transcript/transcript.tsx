import { page } from "../page-store.ts";
import { shownPath } from "../session-tree.ts";

export function Transcript() {
  const { previews, ids } = page.value!.rows;
  return (
    <section aria-label="Transcript">
      {shownPath.value.slice(0, 50).map((row) => (
        <p key={ids[row]}>{previews[row]}</p>
      ))}
    </section>
  );
}
