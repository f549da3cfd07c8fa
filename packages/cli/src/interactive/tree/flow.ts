import type { NavigateOptions } from "@bonsai-agent/agent";
import { cutRefusal } from "@bonsai-agent/compaction/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { errorText } from "../../views/error-text.ts";
import { counted } from "../../views/numbers.ts";
import { callIn, previewOf } from "../../views/preview.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { askPick, askText, askYes } from "../panels/ask.ts";
import { fillEditor, sentMessage } from "../prompt/typed-message.ts";
import { keys } from "../terminal/keys.ts";
import { showBranchDiff } from "./branches.ts";
import { hiddenIds, hideOrShow } from "./hide.ts";
import { TreeModel } from "./tree-model.ts";
import { TreePanel, type TreePanelOptions } from "./tree-panel.ts";

type SummaryChoice = Pick<NavigateOptions, "summarise" | "focus" | "useDigest">;

interface Place {
  model: TreeModel;
  at: number;
}

interface Action {
  text: string;
  does: "go" | "summarise" | "digest" | "compact" | "label";
  hasFocus?: true;
}

const ACTIONS: readonly Action[] = [
  { does: "go", text: "Go there, no summary" },
  { does: "summarise", text: "Go there and summarise the branch you leave" },
  { does: "summarise", text: "Go there and summarise with a focus", hasFocus: true },
  { does: "digest", text: "Go there and summarise with the built-in digest" },
  { does: "compact", text: "Compact everything before this" },
  { does: "compact", text: "Compact everything before this, with a focus", hasFocus: true },
  { does: "label", text: "Label" },
];

/**
 * `/tree`: shows the tree and acts on the chosen entry.
 * @param options.atEntryId the entry to begin at; default: the session's leaf
 * @returns false if the user left the tree with Esc
 */
export async function openTree(
  context: InteractiveContext,
  { atEntryId }: { atEntryId?: string } = {},
): Promise<boolean> {
  const model = openTreeModel(context, atEntryId);
  const { panelsLeft } = context.screen;
  while (!panelsLeft.aborted) {
    let hasMenu = false;
    const onMenu = () => {
      hasMenu = true;
    };
    const at = await pickEntry(context, model, { title: "Session tree", choice: "go there", onMenu });
    if (at === undefined) return false;
    if (await actAt(context, { model, at }, hasMenu)) return true;
  }
  return false;
}

/**
 * Does what the user picks for an entry. Without a choice, Enter goes there or says why not.
 * @param hasMenu the user asked for the menu
 * @returns false if the user goes back to the tree
 */
async function actAt(context: InteractiveContext, place: Place, hasMenu: boolean): Promise<boolean> {
  const { model, at } = place;
  const { id } = model.entryAt(at);
  const leavesWork = model.leavesWork(at);
  if (!hasMenu && (model.isHere(at) || !leavesWork || context.host.agent.isBusy))
    return goTo(context, place, {});
  const { panelsLeft } = context.screen;
  let hasFailed = false;
  while (!panelsLeft.aborted) {
    const action = await askPick(context.screen, {
      title: "Choose an action for this entry",
      items: ACTIONS.filter(({ does }) =>
        does === "digest" ? hasFailed : leavesWork || does !== "summarise",
      ),
      row: ({ text }) => ({ label: text }),
    });
    if (action === undefined) return false;
    if (action.does === "label") return labelAt(context, place);
    const focus = action.hasFocus ? await askFocus(context) : {};
    if (focus === undefined) continue;
    if (action.does === "compact") return compactBefore(context, id, focus.focus);
    const summary = { summarise: action.does !== "go", ...focus };
    const useDigest = action.does === "digest" ? { useDigest: true } : {};
    if (await goTo(context, place, { ...summary, ...useDigest })) return true;
    hasFailed = true;
  }
  return false;
}

/** Asks for the focus of a summary. Returns undefined if the user leaves the question. */
async function askFocus({ screen }: InteractiveContext): Promise<{ focus?: string } | undefined> {
  const typed = await askText(screen, {
    title: "What should the summary focus on?",
    placeholder: "Empty: everything",
  });
  if (typed === undefined) return undefined;
  const focus = typed.trim();
  return focus === "" ? {} : { focus };
}

/** @returns false if the summary failed */
async function goTo(
  context: InteractiveContext,
  { model, at }: Place,
  options: SummaryChoice,
): Promise<boolean> {
  if (!model.isHere(at) && context.host.agent.isBusy) {
    const stop = keys.label("interrupt");
    context.notify(
      `Going to another entry has to wait for the agent. Press ${stop} to stop the agent.`,
      "warning",
    );
  } else if (model.isHere(at)) context.notify(ALREADY_HERE);
  else return navigateFlow(context, model.entryAt(at).id, options);
  return true;
}

const ALREADY_HERE = "You are already there.";

/**
 * Goes to an entry of the tree. A cancelled or failed move changes nothing.
 * @returns false if the summary failed: the user can choose another one
 */
export async function navigateFlow(
  context: InteractiveContext,
  targetId: string,
  options: SummaryChoice,
): Promise<boolean> {
  const { agent } = context.host;
  try {
    const { status, editorText } = await context.interruptible((signal) =>
      agent.navigate(targetId, { ...options, ...(isNoModel(agent.model) && { useDigest: true }), signal }),
    );
    if (status === "cancelled") {
      context.notify("Cancelled. Your position is unchanged.", "info", { attempt: "move" });
      return true;
    }
    if (status === "moved") context.chat.rebuild(agent.session, "move");
    const sent = sentMessage(agent.session, targetId);
    if (editorText !== undefined && (editorText !== "" || sent.images.length > 0))
      fillEditor(context, { ...sent, text: editorText });
    else if (status === "unchanged") context.notify(ALREADY_HERE);
  } catch (error) {
    const isSummary = BonsaiError.is(error) && error.code === "branch_summary_failed";
    // The message of a failed summary says already that nothing changed.
    const where = isSummary ? "" : "\nYour position is unchanged.";
    context.notify(`${errorText(error)}${where}`, "error", { attempt: "move" });
    return !isSummary;
  }
  return true;
}

/**
 * Compacts with the cut at an entry. If that is not legal, offers the nearest legal entry.
 * @returns false if the user goes back to the tree
 */
async function compactBefore(
  context: InteractiveContext,
  entryId: string,
  focus: string | undefined,
): Promise<boolean> {
  try {
    const place = await legalCut(context, entryId);
    if (place !== undefined) context.compactBefore(place, focus);
    return place !== undefined;
  } catch (error) {
    context.notify(errorText(error), "error");
    return false;
  }
}

async function legalCut(context: InteractiveContext, entryId: string): Promise<string | undefined> {
  const { agent, app } = context.host;
  const { session } = agent;
  const { estimator } = app.settings.compaction;
  const refusal = cutRefusal({ session, estimator, firstKeptEntryId: entryId });
  if (refusal === undefined) return entryId;
  const { reason, nearest } = refusal;
  if (nearest === undefined) {
    context.notify(`Cannot compact up to this entry. ${reason}`, "warning");
    return undefined;
  }
  const entry = session.entry(nearest.entryId);
  const preview = entry === undefined ? nearest.entryId : previewOf(entry, callIn(session, entry));
  const shown = preview.length > MAX_PREVIEW ? `${oneLine(preview, MAX_PREVIEW)}…` : preview;
  const isTaken = await askYes(context.screen, {
    title: "Compact everything before another entry?",
    message: `${reason} The nearest possible entry: “${shown}”. This keeps about ${counted(nearest.keptTokens, "token")}.`,
  });
  return isTaken ? nearest.entryId : undefined;
}

const MAX_PREVIEW = 60;

export function openTreeModel({ host }: InteractiveContext, atEntryId?: string): TreeModel {
  const { session } = host.agent;
  const { leafId } = session;
  return new TreeModel({ tree: session.tree(), leafId, atEntryId, hiddenIds: hiddenIds(session) });
}

/** Shows the tree until an entry is chosen; undefined if the user left. The model keeps the position. */
export async function pickEntry(
  context: InteractiveContext,
  model: TreeModel,
  options: Pick<TreePanelOptions, "title" | "choice" | "onMenu">,
): Promise<number | undefined> {
  const { screen, host } = context;
  let panel: TreePanel | undefined;
  const onLabel = async (at: number) => {
    await labelAt(context, { model, at });
    panel?.changed();
  };
  const onDiff = (at: number) => void showBranchDiff(context, model.entryAt(at).id);
  const onHide = (at: number) => {
    try {
      context.notify(hideOrShow(context, model.entryAt(at).id));
    } catch (error) {
      context.notify(errorText(error), "warning");
    }
    model.hiddenIds = hiddenIds(host.agent.session);
    panel?.changed();
  };
  try {
    return await screen.show<number>((done) => {
      const { now } = host.app.call.io;
      panel = new TreePanel({ ...options, screen, model, now, done, onLabel, onDiff, onHide });
      return panel;
    });
  } finally {
    panel?.close();
  }
}

/** Asks for a label of an entry; an empty one removes it. @returns false: the tree stays */
async function labelAt({ screen, host, notify }: InteractiveContext, { model, at }: Place): Promise<false> {
  const present = model.labelOf(at);
  const typed = await askText(screen, {
    title: `Label for this entry${present === undefined ? "" : `, now [${present}]`}`,
    placeholder: present === undefined ? "One or two words" : "Empty removes the label",
  });
  if (typed === undefined) return false;
  const label = typed.replace(/\s+/g, " ").trim() || undefined;
  try {
    host.agent.session.append({
      type: "label",
      targetId: model.entryAt(at).id,
      ...(label !== undefined && { label }),
    });
    model.setLabel(at, label);
  } catch (error) {
    notify(errorText(error), "error");
  }
  return false;
}
