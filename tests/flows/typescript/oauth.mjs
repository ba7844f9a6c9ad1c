// Both SDKs sign in by OAuth, refresh, and ask again after a disconnection. The Python test beside this folder plays
// the owner's browser and moves time: each question is one line of JSON to it, and so is its answer.

import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function tell(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
  return JSON.parse((await lines.next()).value);
}

/** What a host keeps: enough for both SDKs. */
class Provider {
  redirectUrl = "http://127.0.0.1:43118/callback";
  clientMetadata = {
    client_name: "TypeScript host",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  asked = 0;
  refreshTokens = [];
  state() {
    return "a state of the host's";
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.saved;
  }
  saveTokens(tokens) {
    this.saved = tokens;
    this.refreshTokens.push(tokens.refresh_token);
  }
  // As hosts do: what the server no longer takes is forgotten, and the owner is asked anew.
  invalidateCredentials(scope) {
    if (scope === "all" || scope === "tokens") this.saved = undefined;
    if (scope === "all" || scope === "client") this.client = undefined;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  async redirectToAuthorization(url) {
    this.asked += 1;
    this.returned = new URL((await tell({ ask: url.href })).location).searchParams;
  }
}

const [sdk, url] = process.argv.slice(2);
const { Client } = await import(
  sdk === "sdk1" ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client"
);
const { StreamableHTTPClientTransport } = await import(
  sdk === "sdk1" ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client"
);
const provider = new Provider();

function connection() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  return { client: new Client({ name: "flows", version: "1" }), transport };
}

/** Connect as a host does: where the owner was asked, redeem what the browser brought back, and connect anew. */
async function connect() {
  const first = connection();
  try {
    await first.client.connect(first.transport);
    return first.client;
  } catch (error) {
    if (provider.returned === undefined) throw error;
    const returned = provider.returned;
    provider.returned = undefined;
    await first.transport.finishAuth(sdk === "sdk1" ? returned.get("code") : returned);
    const second = connection();
    await second.client.connect(second.transport);
    return second.client;
  }
}

async function project(client) {
  const listed = await client.callTool({ name: "memory_list_projects", arguments: {} });
  return listed.structuredContent.projects[0].id;
}

let client = await connect();
const seen = { first: await project(client) };
await tell({ expire: true });
seen.refreshed = await project(client);
await client.close();
client = await connect();
await tell({ expire: true });
seen.refreshedAfterReconnecting = await project(client);
seen.askedSoFar = provider.asked;
await client.close();
await tell({ disconnect: true });
client = await connect();
seen.afterDisconnection = await project(client);
await client.close();
seen.asked = provider.asked;
seen.differentRefreshTokens = new Set(provider.refreshTokens).size;
process.stdout.write(`${JSON.stringify({ seen })}\n`);
process.exit(0);
