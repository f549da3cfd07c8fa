import type { NavigateOptions } from "@bonsai-agent/agent";
import type { InteractiveWork } from "../interactive-work.ts";

const choices = ["No summary", "Summarise", "Summarise with focus"];
const withDigest = "Summarise with the built-in digest";

export interface SummaryQuestion {
  /** A summary was asked for and failed: the digest, which needs no model, is among the choices. */
  hasFailed: boolean;
}

/** Asks what is to be kept of the branch that is left; undefined where the user would rather go back. */
export async function askSummary(
  { ui, screen: { letGo } }: Pick<InteractiveWork, "ui" | "screen">,
  { hasFailed }: SummaryQuestion,
): Promise<Pick<NavigateOptions, "summarise" | "focus" | "useDigest"> | undefined> {
  while (!letGo.aborted) {
    const choice = await ui.select("Keep a summary of the branch that you leave?", [
      ...choices,
      ...(hasFailed ? [withDigest] : []),
    ]);
    if (choice === undefined) return undefined;
    if (choice === "No summary") return { summarise: false };
    if (choice === "Summarise") return { summarise: true };
    if (choice === withDigest) return { summarise: true, useDigest: true };
    const focus = await ui.input("What should the summary dwell on?", "Empty: everything");
    if (focus !== undefined) return focus.trim() === "" ? { summarise: true } : { summarise: true, focus };
  }
  return undefined;
}
