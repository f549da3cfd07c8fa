import type { CustomEntry } from "@bonsai-agent/session";
import { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";

/** Data of an extension in the session, as the extension draws it; nothing where it does not. */
export class EntryBlock extends ChatBlock {
  readonly #entry: CustomEntry;
  readonly #looks: ChatLooks;

  constructor(entry: CustomEntry, looks: ChatLooks) {
    super();
    this.#entry = entry;
    this.#looks = looks;
  }

  protected lines(width: number): string[] {
    return this.#looks.drawings?.entry(this.#entry, this.isExpanded, width) ?? [];
  }
}
