import { OpenAI } from "openai";
import { isOpenAiHost } from "./openai-servers.ts";
import { patientDispatcher } from "./patient-dispatcher.ts";
import type { ProviderCall } from "./provider.ts";

/** The SDK's own limit is 10 minutes; how long a silent server is waited for is decided above the providers. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const TAIL_BYTES = 64;

/**
 * One request's connection: the SDK's client, and what the SDK does not tell of the answer.
 * Owner of the error body and of whether the stream said that it is done.
 */
export class OpenAiWire {
  readonly client: OpenAI;
  /** The text of a refusal; undefined where there is no refusal, or none with a body. */
  errorText: string | undefined;
  /** True when the server closed its stream with `[DONE]`. */
  saidDone = false;

  constructor({ model, apiKey }: ProviderCall) {
    const isOpenAi = isOpenAiHost(model.baseUrl);
    this.client = new OpenAI({
      baseURL: model.baseUrl,
      // The SDK wants one; without a key of ours the header is left out.
      apiKey: apiKey ?? "none",
      adminAPIKey: null,
      maxRetries: 0,
      timeout: NO_TIMEOUT_MS,
      logLevel: "off",
      // What the environment says of an OpenAI account is nobody else's business.
      ...(!isOpenAi && { organization: null, project: null }),
      defaultHeaders: {
        ...(!isOpenAi && withoutCustomHeaders()),
        ...(apiKey === undefined && { Authorization: null }),
        ...model.headers,
      },
      fetch: (url, init) => this.#fetch(url, init),
    });
  }

  async #fetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const dispatcher = patientDispatcher();
    const response = await fetch(url, { ...init, ...(dispatcher && { dispatcher }) } as RequestInit);
    if (!response.ok) {
      const text = await response.text();
      this.errorText = text.trim() === "" ? undefined : text;
      return new Response(text, response);
    }
    if (isJson(response)) return this.#asStream(await response.text(), response);
    const watched = response.body?.pipeThrough(this.#doneWatch());
    return new Response(watched ?? null, response);
  }

  /** Some servers answer in one piece, whatever was asked; JSON's line breaks stand between tokens only. */
  #asStream(json: string, { status, headers }: Response): Response {
    this.saidDone = true;
    const text = `data: ${json.trim().replace(/\s*[\r\n]+\s*/g, " ")}\n\ndata: [DONE]\n\n`;
    return new Response(text, { status, headers });
  }

  /** The SDK ends its stream in the same way whether it was closed with `[DONE]` or just ended. */
  #doneWatch(): TransformStream<Uint8Array, Uint8Array> {
    let tail = "\n";
    return new TransformStream({
      transform: (chunk, controller) => {
        const end = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        // A line of its own: inside JSON a line break is escaped.
        tail = `${tail}${end.toString("latin1", Math.max(0, end.length - TAIL_BYTES))}`.slice(-TAIL_BYTES);
        if (/[\r\n]data:\s*\[DONE\]/.test(tail)) this.saidDone = true;
        controller.enqueue(chunk);
      },
    });
  }
}

function isJson({ headers }: Response): boolean {
  return /^application\/(\w+\+)?json/i.test(headers.get("content-type") ?? "");
}

/** The SDK sends `OPENAI_CUSTOM_HEADERS` to every base URL. */
function withoutCustomHeaders(): Record<string, null> {
  const lines = (process.env.OPENAI_CUSTOM_HEADERS ?? "").split("\n");
  const names = lines.map((line) => line.slice(0, Math.max(0, line.indexOf(":"))).trim());
  return Object.fromEntries(names.filter((name) => name !== "").map((name) => [name, null]));
}
