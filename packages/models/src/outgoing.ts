import type { Message } from "@bonsai-agent/messages";
import type { CatalogueModel, ThinkingLevel } from "./catalogue-model.ts";
import type { ModelRequest } from "./model-request.ts";
import { OutputCap } from "./overflow/output-cap.ts";
import type { WithoutThinking } from "./refused-thinking.ts";
import type { Repair } from "./repair/repair.ts";
import { repairOf } from "./repair/repair-details.ts";
import { hasImages, withoutOlderImages } from "./repair/repair-images.ts";
import { repairMessages } from "./repair/repair-messages.ts";
import { requestTokens } from "./request-tokens.ts";

export interface OutgoingOptions {
  request: ModelRequest;
  /** With the window that its server taught. */
  model: CatalogueModel;
  apiKey: string | undefined;
  /** What the provider refused of this context before. */
  without: WithoutThinking | undefined;
  tell: (repairs: readonly Repair[]) => void;
}

/** What the attempts of one request send. Owner of what is repaired in it between them. */
export class Outgoing {
  readonly apiKey: string | undefined;
  /** Estimated. */
  readonly inputTokens: number;
  readonly cap: OutputCap;
  readonly #model: CatalogueModel;
  readonly #tell: OutgoingOptions["tell"];
  #messages: readonly Message[];
  #thinking: ThinkingLevel;
  #hasDroppedThinking = false;

  constructor({ request, model, apiKey, without, tell }: OutgoingOptions) {
    const { messages: asked, prefixChangedAtMs, maxOutputTokens: wantedTokens, thinking = "off" } = request;
    this.apiKey = apiKey;
    this.#model = model;
    this.#tell = tell;
    this.#thinking = without?.isOff ? "off" : thinking;
    const dropThinkingUpToMs = without?.upToMs;
    const { messages, repairs } = repairMessages({
      messages: asked,
      model,
      prefixChangedAtMs,
      dropThinkingUpToMs,
    });
    tell(repairs);
    this.#messages = messages;
    this.inputTokens = requestTokens({ ...request, messages });
    this.cap = new OutputCap({ model, wantedTokens, inputTokens: this.inputTokens });
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  get thinking(): ThinkingLevel {
    return this.#thinking;
  }

  /** False where there is no image that could be left out. */
  get hasImages(): boolean {
    return hasImages(this.#messages);
  }

  /** True when the provider refused the history and thinking was left out. */
  get hasDroppedThinking(): boolean {
    return this.#hasDroppedThinking;
  }

  /**
   * Leaves all thinking out; false where that changes nothing, or nothing more. Thinking is switched off too: some servers ask for
   * the thinking of earlier calls while it is on.
   */
  repairHarder(): boolean {
    const { messages, repairs } = repairMessages({
      messages: this.#messages,
      model: this.#model,
      dropThinkingUpToMs: Number.POSITIVE_INFINITY,
    });
    if (messages === this.#messages && this.#thinking === "off") return false;
    this.#hasDroppedThinking = true;
    this.#thinking = "off";
    this.#messages = messages;
    this.#tell(repairs);
    return true;
  }

  /** Leaves out the images of older messages; false where there are none, or no more. */
  dropImages(): boolean {
    const before = this.#messages;
    this.#messages = withoutOlderImages(before);
    const count = this.#messages.filter((message, index) => message !== before[index]).length;
    if (count > 0) this.#tell([repairOf("too_many_bytes", count)]);
    return count > 0;
  }
}
