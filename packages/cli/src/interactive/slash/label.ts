import type { Session } from "@bonsai-agent/session";
import type { InteractiveWork } from "../interactive-work.ts";
import { labelEntry, writeLabel } from "../tree/label-entry.ts";
import { isWork } from "../tree/tree-filter.ts";
import type { SlashCommand } from "./slash-command.ts";

export const label: SlashCommand = {
  name: "label",
  description: "Label the latest message, to find it in the tree; without a text, asks for it",
  argumentHint: "[text]",
  run: labelLatest,
};

async function labelLatest(text: string, work: InteractiveWork): Promise<void> {
  const { session } = work.host.agent;
  const id = latestWork(session);
  if (id === undefined) {
    work.tell({ level: "info", message: "There is no message to label yet." });
    return;
  }
  const present = session.label(id);
  const given = text === "" ? await labelEntry(work, { id, present }) : writeLabel(work, id, text);
  if (given === undefined) return;
  const message =
    given === "" ? "The latest message has no label now." : `The latest message is labelled [${given}].`;
  work.tell({ level: "info", message });
}

/** The nearest entry above the leaf that is more than a note about others. */
function latestWork(session: Session): string | undefined {
  return session.path().findLast(isWork)?.id;
}
