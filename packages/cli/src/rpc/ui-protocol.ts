import { z } from "zod";

const id = z.string().min(1);
const text = z.string();
const timeout = z.number().optional();

/** The fields of each request beside `type`, `id` and `method`. The one table of what a client may be asked or told. */
export const uiRequests = {
  select: { title: text, options: z.array(text), timeout },
  confirm: { title: text, message: text, timeout },
  input: { title: text, placeholder: text.optional(), timeout },
  editor: { title: text, prefill: text.optional() },
  notify: { message: text, notifyType: z.enum(["info", "warning", "error"]) },
  setStatus: { statusKey: text, statusText: text.optional() },
  setWidget: {
    widgetKey: text,
    widgetLines: z.array(text).optional(),
    widgetPlacement: z.enum(["aboveEditor", "belowEditor"]),
  },
  setTitle: { title: text },
  set_editor_text: { text },
} as const satisfies Record<string, z.ZodRawShape>;

export type UiMethod = keyof typeof uiRequests;

/** A line on standard output: a question that waits for its answer, or something to show. */
export type UiRequest = {
  [Method in UiMethod]: { type: "extension_ui_request"; id: string; method: Method } & z.output<
    z.ZodObject<(typeof uiRequests)[Method]>
  >;
}[UiMethod];

/** A line on standard input: the answer to a question. Which of the fields counts, the question decides. */
export const uiResponse = z.strictObject({
  type: z.literal("extension_ui_response"),
  id,
  value: text.optional(),
  confirmed: z.boolean().optional(),
  cancelled: z.boolean().optional(),
});

export type UiResponse = z.output<typeof uiResponse>;
