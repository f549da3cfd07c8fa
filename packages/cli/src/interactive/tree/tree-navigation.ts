import type { NavigateOptions } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { fillEditor, sentMessage } from "../prompt/typed-message.ts";
import { keys } from "../terminal/keys.ts";
import { showBranchDiff } from "./branches.ts";
import { askAction, askFocus, summariseBefore, type TreeAction } from "./tree-actions.ts";
import { TreeModel } from "./tree-model.ts";
import { TreePanel, type TreePanelOptions } from "./tree-panel.ts";
import type { TreeFilter } from "./tree-search.ts";

/**
 * `/tree`: shows the tree, and does what the user wants to.
 * @param options.atEntryId the entry to begin at; default: where the session stands
 * @returns false where the user left the tree by Esc
 */
export async function openTree(
  context: InteractiveContext,
  { atEntryId }: { atEntryId?: string } = {},
): Promise<boolean> {
  const model = openTreeModel(context, "default", atEntryId);
  const { panelsLeft } = context.screen;
  while (!panelsLeft.aborted) {
    let action: TreeAction = { does: "go" };
    const onAction = (chosen: TreeAction) => {
      action = chosen;
    };
    const at = await pickEntry(context, model, { title: "Session tree", choice: "go there", onAction });
    if (at === undefined) return false;
    if (await actAt(context, { model, at }, action)) return true;
  }
  return false;
}

/** @returns false where the user went back to the tree */
async function actAt(
  context: InteractiveContext,
  { model, at }: { model: TreeModel; at: number },
  { does, focus }: TreeAction,
): Promise<boolean> {
  if (does === "summariseBefore") return summariseBefore(context, model.entryAt(at).id, focus);
  if (model.isHere(at)) {
    context.notify(alreadyHere);
    return true;
  }
  const summary = { summarise: true, ...(focus !== undefined && { focus }) };
  if (context.host.agent.isBusy) {
    const stop = keys.label("interrupt");
    context.notify(
      `Going to another entry has to wait for the agent. Press ${stop} to stop the agent.`,
      "warning",
    );
    return true;
  }
  return goTo(context, { model, at }, does === "summariseAfter" ? summary : undefined);
}

/**
 * @param asked what is to be kept of the branch that is left, where the user has said so already
 * @returns false where the user went back to the tree, by Esc at the question
 */
async function goTo(
  context: InteractiveContext,
  { model, at }: { model: TreeModel; at: number },
  asked: SummaryChoice | undefined,
): Promise<boolean> {
  const { id } = model.entryAt(at);
  if (!model.leavesWork(at)) return navigateFlow(context, id, {});
  for (let hasFailed = false; ; hasFailed = true) {
    const options = (hasFailed ? undefined : asked) ?? (await askSummary(context, hasFailed));
    if (options === undefined) return false;
    if (await navigateFlow(context, id, options)) return true;
  }
}

/**
 * Goes to an entry of the tree. Where Esc cancels it, and where it fails, nothing has changed.
 * @returns false where the summary failed: it can be asked for in another way
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
    else if (status === "unchanged") context.notify(alreadyHere);
  } catch (error) {
    const isSummary = BonsaiError.is(error) && error.code === "branch_summary_failed";
    // Its message already has that nothing was changed.
    const where = isSummary ? "" : "\nYour position is unchanged.";
    context.notify(`${errorText(error)}${where}`, "error", { attempt: "move" });
    return !isSummary;
  }
  return true;
}

const alreadyHere = "You are already there.";

type SummaryChoice = Pick<NavigateOptions, "summarise" | "focus" | "useDigest">;

const choices = ["No summary", "Summarise", "Summarise with focus"];
const withDigest = "Summarise with the built-in digest";

/**
 * Asks what is to be kept of the branch that is left; undefined where the user would rather go back.
 * @param hasFailed a summary was asked for and failed: the digest, which needs no model, is among the choices
 */
async function askSummary(
  context: InteractiveContext,
  hasFailed: boolean,
): Promise<SummaryChoice | undefined> {
  const {
    ui,
    screen: { panelsLeft },
  } = context;
  while (!panelsLeft.aborted) {
    const choice = await ui.select("Summarise the branch you leave?", [
      ...choices,
      ...(hasFailed ? [withDigest] : []),
    ]);
    if (choice === undefined) return undefined;
    if (choice === "No summary") return { summarise: false };
    if (choice === "Summarise") return { summarise: true };
    if (choice === withDigest) return { summarise: true, useDigest: true };
    const focus = await askFocus(context);
    if (focus !== undefined) return { summarise: true, ...focus };
  }
  return undefined;
}

/** The tree of the session as it is now. */
export function openTreeModel(
  context: InteractiveContext,
  filter: TreeFilter,
  atEntryId?: string,
): TreeModel {
  const { session } = context.host.agent;
  return new TreeModel({ tree: session.tree(), leafId: session.leafId, filter, atEntryId });
}

interface PickOptions extends Pick<TreePanelOptions, "title" | "choice" | "firstRow"> {
  /** Default true. */
  canLabel?: boolean;
  /** Called where an entry was chosen for something else than Enter does. Default: it cannot be. */
  onAction?: (action: TreeAction) => void;
}

/** Shows the tree until an entry is chosen; undefined where the user left. The model keeps where the user was. */
export async function pickEntry(
  context: InteractiveContext,
  model: TreeModel,
  { canLabel = true, onAction, ...words }: PickOptions,
): Promise<number | undefined> {
  const { screen, host } = context;
  let panel: TreePanel | undefined;
  const onLabel = async (at: number) => {
    const label = await askLabel(context, model.entryAt(at).id, model.labelOf(at));
    if (label === undefined) return;
    model.setLabel(at, label === "" ? undefined : label);
    panel?.changed();
  };
  const onDiff = (marks: readonly number[]) => {
    const [a, b = host.agent.session.leafId] = marks.map((at) => model.entryAt(at).id);
    void showBranchDiff(context, a!, b);
  };
  const actOn = async (at: number, done: (at: number) => void) => {
    const action = await askAction(context);
    if (action?.does === "label") return onLabel(at);
    if (action === undefined) return;
    onAction?.(action);
    done(at);
  };
  try {
    return await screen.show<number>((done) => {
      const { now } = host.app.call.io;
      const onActions = (at: number) => void actOn(at, done);
      const keys = { ...(canLabel && { onLabel, onDiff }), ...(onAction && { onActions }) };
      panel = new TreePanel({ ...words, screen, model, now, done, ...keys });
      return panel;
    });
  } finally {
    panel?.close();
  }
}

/**
 * Asks for a label and puts it on an entry; an empty one takes the label away.
 * @param present the label that the entry has
 * @returns the label as it is now; undefined where nothing was changed
 */
export async function askLabel(
  context: InteractiveContext,
  id: string,
  present: string | undefined,
): Promise<string | undefined> {
  const title = `Label for this entry${present === undefined ? "" : `, now [${present}]`}`;
  const hint = present === undefined ? "One or two words" : "Empty removes the label";
  const typed = await context.ui.input(title, hint);
  if (typed === undefined) return undefined;
  try {
    return writeLabel(context, id, typed);
  } catch (error) {
    context.notify(errorText(error), "error");
    return undefined;
  }
}

/** @returns the label as it is now; empty for none */
export function writeLabel({ host }: InteractiveContext, targetId: string, text: string): string {
  const label = text.replace(/\s+/g, " ").trim();
  host.agent.session.append({ type: "label", targetId, ...(label === "" ? {} : { label }) });
  return label;
}
