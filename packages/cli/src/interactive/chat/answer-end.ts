import type { AssistantMessage } from "@bonsai-agent/messages";
import { printable } from "../../views/printable.ts";

/** How an answer ended, where that is worth a line. */
export interface AnswerEnd {
  level: "warning" | "error";
  text: string;
}

export function answerEnd({ stopReason, errorMessage }: AssistantMessage): AnswerEnd | undefined {
  switch (stopReason) {
    case "aborted":
      return { level: "warning", text: "Stopped before its end." };
    case "length":
      return { level: "warning", text: "Cut off at the model's output cap." };
    case "error":
      return { level: "error", text: `Failed: ${reason(errorMessage)}` };
    default:
      return undefined;
  }
}

function reason(message: unknown): string {
  return typeof message === "string" && message.trim() !== "" ? printable(message.trim()) : "no reason given";
}
