import type { NavigateOptions } from "@bonsai-agent/agent";
import type { InteractiveWork } from "../interactive-work.ts";

const choices = ["No summary", "Summarise", "Summarise with focus"] as const;

/** Asks what is to be kept of the branch that is left; undefined where the user would rather go back. */
export async function askSummary({
  ui,
}: Pick<InteractiveWork, "ui">): Promise<Pick<NavigateOptions, "summarise" | "focus"> | undefined> {
  for (;;) {
    const choice = await ui.select("Keep a summary of the branch that you leave?", [...choices]);
    if (choice === undefined) return undefined;
    if (choice === "No summary") return { summarise: false };
    if (choice === "Summarise") return { summarise: true };
    const focus = await ui.input("What should the summary dwell on?", "Empty: everything");
    if (focus !== undefined) return focus.trim() === "" ? { summarise: true } : { summarise: true, focus };
  }
}
