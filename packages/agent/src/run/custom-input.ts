import type { UserContent } from "@bonsai-agent/messages";

/** A message that an extension puts into the conversation: stored, and seen by the model as the user's. */
export interface CustomInput {
  /** Tells the extension's messages from others. */
  customType: string;
  content: string | UserContent[];
  /** False: front ends do not show it. */
  display: boolean;
  /** For the extension; stored, never sent. */
  details?: unknown;
}

export interface SendMessageOptions {
  /**
   * True: an idle agent begins to work. False: a run that would end is not kept going by it. Default: false for an idle
   * agent, true during a run.
   */
  triggerTurn?: boolean | undefined;
  /**
   * During a run: "steer" before its next request (the default), "followUp" when it would end. At any time: "nextTurn"
   * with the user's next prompt.
   */
  deliverAs?: "steer" | "followUp" | "nextTurn" | undefined;
}
