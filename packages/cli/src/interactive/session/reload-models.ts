import { errorText } from "../error-text.ts";
import type { InteractiveWork } from "../interactive-work.ts";

/** What `models.json` says now counts from here on. A file that cannot be read is told of, and changes nothing. */
export function reloadModels({ host, tell }: Pick<InteractiveWork, "host" | "tell">): void {
  try {
    host.workshop.shelf.catalogue.reload();
  } catch (error) {
    tell({ level: "error", message: errorText(error) });
  }
}
