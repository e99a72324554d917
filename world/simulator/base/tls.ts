/**
 * A throwaway certificate authority and a server certificate, made at the start of the world. Clients trust the CA through the
 * same setting as a private CA in production, so verification stays on.
 */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  cryptoProvider,
} from '@peculiar/x509';

export interface ServerTls {
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Clients compare validity with the machine's clock, from which the clock of a virtual world may differ by years. */
const VALID_FOR_MS = 20 * 365 * 86_400_000;

let known: { readonly madeForMs: number; readonly tls: Promise<ServerTls> } | undefined;

/** The certificates of this process, valid for ten years at least around `nowMs`. To make new ones takes as long as the rest of a small world. */
export function serverTlsAt(nowMs: number): Promise<ServerTls> {
  if (known === undefined || Math.abs(nowMs - known.madeForMs) > VALID_FOR_MS / 2)
    known = { madeForMs: nowMs, tls: createServerTls(nowMs) };
  return known.tls;
}

/** Creates a CA and a certificate for `localhost` and 127.0.0.1, valid for twenty years before and after `nowMs`. */
export async function createServerTls(nowMs: number): Promise<ServerTls> {
  cryptoProvider.set(webcrypto);
  const validity = { notBefore: new Date(nowMs - VALID_FOR_MS), notAfter: new Date(nowMs + VALID_FOR_MS) };
  const caKeys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const ca = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=aks-autoscaler simulator CA',
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys: caKeys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: '02',
    subject: 'CN=localhost',
    issuer: ca.subject,
    ...validity,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
      ]),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      await AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const privateKey = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { caPem: ca.toString('pem'), certPem: certificate.toString('pem'), keyPem: PemConverter.encode(privateKey, 'PRIVATE KEY') };
}
