import type * as acp from "@agentclientprotocol/sdk";
import type { CompactionDraft, ReviewCompaction } from "@bonsai-agent/compaction";
import type { DialogOptions, FrontEndUI } from "@bonsai-agent/extension/host";
import type { Model } from "@bonsai-agent/messages";
import { dialogEnd } from "../call/questions.ts";
import { TEXT_COLUMNS } from "../call/text-commands.ts";
import { dialogReview, draftView } from "../views/draft-view.ts";
import { renderLine } from "../views/line.ts";
import type { ClientLink } from "./client-link.ts";

type Kind = acp.PermissionOptionKind;

interface Choice {
  label: string;
  kind: Kind;
  /** The label of the option to return; undefined for none. */
  answer: string | undefined;
  /** True: the same question gets this answer again in this session. */
  isKept?: true;
}

/** Owner of the questions to the client, and of the answers that it keeps for the session. */
export class AcpUi {
  readonly #link: ClientLink;
  readonly #openCall: () => string | undefined;
  readonly #kept = new Map<string, string | undefined>();
  readonly #closed = new AbortController();
  #asked = 0;

  /** @param openCall the id of the call that a question is about; undefined if there is none, or more than one */
  constructor(link: ClientLink, openCall: () => string | undefined) {
    this.#link = link;
    this.#openCall = openCall;
  }

  /** Ends all questions without an answer. */
  close(): void {
    this.#closed.abort();
  }

  /** Extensions and the agent ask the client through this. */
  readonly ui: FrontEndUI = {
    select: (title, options, settings) => this.#select(title, choicesOf(options, settings), settings),
    confirm: async (title, message, settings) => {
      const choices = withKept([
        { label: "Yes", kind: "allow_once", answer: "Yes" },
        { label: "No", kind: "reject_once", answer: undefined },
      ]);
      return (await this.#select(`${title}\n${message}`.trim(), choices, settings)) === "Yes";
    },
    input: (title, placeholder, settings) => this.#text(title, { description: placeholder }, settings),
    editor: (title, prefill) => this.#text(title, { default: prefill }),
    notify: (message, type = "info") => this.#link.notice(type, message),
    setStatus: (_key, text) => this.#undrawn("status texts", text),
    setWidget: (_key, lines) => this.#undrawn("widgets", lines),
    setTitle: () => {},
    setEditorText: () => this.#undrawn("texts for the editor", true),
    getEditorText: () => "",
    custom: async () => {
      this.#undrawn("their own screens", true);
      return undefined;
    },
  };

  /** Asks about a draft with its preview. Without forms in the client, the summary and the focus cannot be changed. */
  reviewCompaction(model: () => Model): ReviewCompaction {
    const textOf = (draft: CompactionDraft, by: Model) =>
      [...draftView(draft, by, TEXT_COLUMNS)].map((line) => renderLine(line, false)).join("\n");
    const review = dialogReview(this.ui, model, textOf);
    return (draft) => {
      const actions = new Set(draft.actions);
      if (!this.#hasForms) for (const action of ["edit", "again"] as const) actions.delete(action);
      return review({ ...draft, actions });
    };
  }

  get #hasForms(): boolean {
    return this.#link.capabilities.elicitation?.form != null;
  }

  async #select(
    text: string,
    choices: readonly Choice[],
    settings?: DialogOptions,
  ): Promise<string | undefined> {
    const key = `${text}\n${choices.map(({ label }) => label).join("\n")}`;
    if (this.#kept.has(key)) return this.#kept.get(key);
    const openCall = this.#openCall();
    const toolCallId = openCall ?? `question-${++this.#asked}`;
    const [title = ""] = text.split("\n", 1);
    const response = await this.#link.ask(
      "session/request_permission",
      {
        sessionId: this.#link.sessionId,
        toolCall: {
          toolCallId,
          ...(openCall === undefined && { title, kind: "other", status: "pending" }),
          content: [{ type: "content", content: { type: "text", text } }],
        },
        options: choices.map(({ label, kind }, at) => ({ optionId: String(at), name: label, kind })),
      },
      dialogEnd(this.#closed.signal, settings),
    );
    const outcome = response?.outcome;
    const chosen = outcome?.outcome === "selected" ? choices[Number(outcome.optionId)] : undefined;
    if (chosen?.isKept) this.#kept.set(key, chosen.answer);
    if (openCall === undefined)
      void this.#link.send({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
    return chosen?.answer;
  }

  async #text(
    message: string,
    field: { description?: string | undefined; default?: string | undefined },
    settings?: DialogOptions,
  ): Promise<string | undefined> {
    if (!this.#hasForms) {
      this.#undrawn("questions for a text", true);
      return undefined;
    }
    const text = { type: "string" as const, title: message, ...field };
    const response = await this.#link.ask(
      "elicitation/create",
      {
        ...{ mode: "form", sessionId: this.#link.sessionId, message },
        requestedSchema: { type: "object", properties: { text }, required: ["text"] },
      } as acp.CreateElicitationRequest,
      dialogEnd(this.#closed.signal, settings),
    );
    const { content } = (response?.action === "accept" ? response : {}) as acp.ElicitationAcceptAction;
    return typeof content?.text === "string" ? content.text : undefined;
  }

  #undrawn(what: string, shown: unknown): void {
    if (shown === undefined) return;
    this.#link.noticeOnce(
      `Extensions cannot show ${what} in this editor. \`bonsai\` in a terminal shows them.`,
    );
  }
}

/** Options without kinds are answers to a question; those with kinds are permissions. */
function choicesOf(options: readonly string[], { permissions }: DialogOptions = {}): Choice[] {
  const choices = options.map(
    (label, at): Choice => ({ label, kind: permissions?.[at] ?? "allow_once", answer: label }),
  );
  if (permissions !== undefined) return withKept(choices);
  const cancel: Choice = { label: "Cancel", kind: "reject_once", answer: undefined };
  return options.includes(cancel.label) ? choices : [...choices, cancel];
}

/** Adds the answers that a permission lacks: always means this question in this session. */
function withKept(choices: readonly Choice[]): Choice[] {
  const added = (["allow", "reject"] as const).flatMap((verb): Choice[] => {
    const once = choices.find(({ kind }) => kind === `${verb}_once`);
    if (once === undefined || choices.some(({ kind }) => kind === `${verb}_always`)) return [];
    const label = `${once.label}, and do not ask this again in this session`;
    return [{ label, kind: `${verb}_always`, answer: once.answer, isKept: true }];
  });
  return [...choices, ...added];
}
