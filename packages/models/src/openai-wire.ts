import { OpenAI } from "openai";
import { OpenAiBody } from "./openai-body.ts";
import { isOpenAiHost } from "./openai-servers.ts";
import { patientDispatcher } from "./patient-dispatcher.ts";
import type { ProviderCall } from "./provider.ts";

/** The SDK's own limit is 10 minutes; how long a silent server is waited for is decided above the providers. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * One request's connection: the SDK's client, and what the SDK does not tell of the answer.
 * Owner of the text of a refusal.
 */
export class OpenAiWire {
  readonly client: OpenAI;
  /** The text of a refusal; undefined where there is no refusal, or none with a body. */
  errorText: string | undefined;
  #body: OpenAiBody | undefined;

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

  /** True when the server said that its answer is done, in whatever way its protocol has for that. */
  get saidDone(): boolean {
    return this.#body === undefined || this.#body.saidDone;
  }

  /** Says that the answer is complete: from now on the end of the stream is waited for only a moment. */
  expectEnd(): void {
    this.#body?.expectEnd();
  }

  async #fetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const dispatcher = patientDispatcher();
    const response = await fetch(url, { ...init, ...(dispatcher && { dispatcher }) } as RequestInit);
    if (!response.ok) {
      const text = await response.text();
      this.errorText = text.trim() === "" ? undefined : text;
      return new Response(text === "" ? null : text, response);
    }
    if (isJson(response)) return asStream(await response.text(), response);
    if (response.body === null) return response;
    this.#body = new OpenAiBody(response.body);
    return new Response(this.#body.stream, response);
  }
}

/** Some servers answer in one piece, whatever was asked; JSON's line breaks stand between tokens only. */
function asStream(json: string, { status, headers }: Response): Response {
  return new Response(`data: ${json.trim().replace(/\s*[\r\n]+\s*/g, " ")}\n\ndata: [DONE]\n\n`, {
    status,
    headers,
  });
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
