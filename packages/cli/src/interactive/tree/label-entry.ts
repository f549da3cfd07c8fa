import { errorText } from "../error-text.ts";
import type { InteractiveWork } from "../interactive-work.ts";

export interface LabelledEntry {
  id: string;
  /** The label that it has. */
  present: string | undefined;
}

/**
 * Asks for a label and puts it on an entry; an empty one takes the label away.
 * @returns the label as it is now; undefined where nothing was changed
 */
export async function labelEntry(work: InteractiveWork, entry: LabelledEntry): Promise<string | undefined> {
  const title =
    entry.present === undefined ? "Label of this entry" : `Label of this entry, now [${entry.present}]`;
  const typed = await work.ui.input(title, entry.present === undefined ? "A word or two" : "Empty: no label");
  if (typed === undefined) return undefined;
  try {
    return writeLabel(work, entry.id, typed);
  } catch (error) {
    work.tell({ level: "error", message: errorText(error) });
    return undefined;
  }
}

/** @returns the label as it is now; empty for none */
export function writeLabel({ host }: InteractiveWork, targetId: string, text: string): string {
  const label = text.replace(/\s+/g, " ").trim();
  host.agent.session.append({ type: "label", targetId, ...(label === "" ? {} : { label }) });
  return label;
}
