import { OpenAI } from "openai";
import { withoutCustomHeaders } from "../custom-headers.ts";
import type { ProviderCall } from "../provider.ts";
import { providerFetch } from "../provider-fetch.ts";
import { isOpenAiHost } from "./openai-servers.ts";

/** The SDK's own limit is 10 minutes; how long a silent server is waited for is decided above the providers. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** How long a server may take to close an answer that is complete; then its connection is given up. */
const END_WAIT_MS = 250;

/**
 * One request's connection: the SDK's client, and what the SDK does not tell of the answer.
 * Owner of the text of a refusal, and of how the connection ends: read to its end it serves the next request.
 */
export class OpenAiWire {
  readonly client: OpenAI;
  /** Ends the connection. */
  readonly closer = new AbortController();
  /** The text of a refusal; undefined where there is no refusal, or none with a body. */
  errorText: string | undefined;
  #saidDone = false;
  #timer: NodeJS.Timeout | undefined;

  constructor({ model, apiKey, onAlive }: ProviderCall) {
    const isOpenAi = isOpenAiHost(model.baseUrl);
    const send = providerFetch(onAlive);
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
        ...(!isOpenAi && withoutCustomHeaders(process.env.OPENAI_CUSTOM_HEADERS)),
        ...(apiKey === undefined && { Authorization: null }),
        ...model.headers,
      },
      fetch: async (url, init) => this.#readable(await send(url, init)),
    });
  }

  /** True when the server closed its stream with `[DONE]`. */
  get saidDone(): boolean {
    return this.#saidDone;
  }

  /** The server said `[DONE]`: nothing behind it counts. */
  sayDone(): void {
    this.#saidDone = true;
    this.expectEnd();
  }

  /** Says that the answer is complete: from now on the end of the stream is waited for only a moment. */
  expectEnd(): void {
    this.#timer ??= setTimeout(() => this.closer.abort(), END_WAIT_MS);
    this.#timer.unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.closer.abort();
  }

  async #readable(response: Response): Promise<Response> {
    if (!response.ok) {
      const text = await response.text();
      this.errorText = text.trim() === "" ? undefined : text;
      return new Response(text === "" ? null : text, response);
    }
    return isJson(response) ? asStream(await response.text(), response) : response;
  }
}

/** Some servers answer in one piece, whatever was asked; JSON's line breaks stand between tokens only. */
function asStream(json: string, { status, headers }: Response): Response {
  return new Response(`data: ${json.trim().replace(/[\r\n]+/g, " ")}\n\ndata: [DONE]\n\n`, {
    status,
    headers,
  });
}

function isJson({ headers }: Response): boolean {
  return /^application\/(\w+\+)?json/i.test(headers.get("content-type") ?? "");
}
