import { cutRefusal } from "@bonsai-agent/compaction/host";
import { counted } from "../../views/numbers.ts";
import { callIn, previewOf } from "../../views/preview.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** What can be done with an entry of the tree. */
export interface TreeAction {
  /** `summariseAfter` goes there with a summary of what is left; `summariseBefore` compacts with the cut there. */
  does: "go" | "summariseAfter" | "summariseBefore" | "label";
  /** What the summary should dwell on. */
  focus?: string;
}

const choices: readonly { text: string; does: TreeAction["does"]; hasFocus?: true }[] = [
  { text: "Go there", does: "go" },
  { text: "Go there and summarise the entries after it", does: "summariseAfter" },
  {
    text: "Go there and summarise the entries after it, with focus",
    does: "summariseAfter",
    hasFocus: true,
  },
  { text: "Compact everything before this", does: "summariseBefore" },
  { text: "Compact everything before this, with focus", does: "summariseBefore", hasFocus: true },
  { text: "Label", does: "label" },
];

/** Asks what to do with an entry; undefined where the user would rather go back to the tree. */
export async function askAction(context: InteractiveContext): Promise<TreeAction | undefined> {
  const { ui, screen } = context;
  while (!screen.panelsLeft.aborted) {
    const texts = choices.map(({ text }) => text);
    const picked = await ui.select("Choose an action for this entry", texts);
    const choice = choices.find(({ text }) => text === picked);
    if (choice === undefined) return undefined;
    const { does, hasFocus } = choice;
    if (hasFocus === undefined) return { does };
    const focus = await askFocus(context);
    if (focus !== undefined) return { does, ...focus };
  }
  return undefined;
}

/** Asks what a summary should dwell on; undefined where the user leaves the question. */
export async function askFocus({ ui }: InteractiveContext): Promise<{ focus?: string } | undefined> {
  const typed = await ui.input("What should the summary focus on?", "Empty: everything");
  if (typed === undefined) return undefined;
  const focus = typed.trim();
  return focus === "" ? {} : { focus };
}

/**
 * Compacts with the cut at an entry; where that is not legal, says why and offers the nearest place that is.
 * @returns false where the user would rather go back to the tree
 */
export async function summariseBefore(
  context: InteractiveContext,
  entryId: string,
  focus: string | undefined,
): Promise<boolean> {
  try {
    const place = await legalPlace(context, entryId);
    // As if it had been typed: the way to a compaction, and what is said of it, is one.
    if (place !== undefined) context.pressed(`/compact --before ${place} -- ${focus ?? ""}`.trimEnd());
    return place !== undefined;
  } catch (error) {
    context.notify(errorText(error), "error");
    return false;
  }
}

async function legalPlace(context: InteractiveContext, entryId: string): Promise<string | undefined> {
  const { agent, app } = context.host;
  const { session } = agent;
  const settings = app.settings.compaction;
  const refusal = cutRefusal({ session, estimator: settings.estimator, firstKeptEntryId: entryId });
  if (refusal === undefined) return entryId;
  const { reason, nearest } = refusal;
  if (nearest === undefined) {
    context.notify(`Cannot compact up to this entry. ${reason}`, "warning");
    return undefined;
  }
  const question = `${reason} The nearest possible entry: ${placeText(context, nearest)}`;
  const isTaken = await context.ui.confirm("Compact everything before another entry?", question);
  return isTaken ? nearest.entryId : undefined;
}

const previewLength = 60;

function placeText(
  { host }: InteractiveContext,
  { entryId, keptTokens }: { entryId: string; keptTokens: number },
): string {
  const entry = host.agent.session.entry(entryId);
  const preview = entry === undefined ? entryId : previewOf(entry, callIn(host.agent.session, entry));
  const shown = preview.length > previewLength ? `${oneLine(preview, previewLength)}…` : preview;
  return `“${shown}”. This keeps about ${counted(keptTokens, "token")}.`;
}
