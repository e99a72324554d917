/** The file of azure.caFile: certificates of authorities in PEM. Must not know which connections trust them. */
import { X509Certificate } from 'node:crypto';

const BEGIN = '-----BEGIN CERTIFICATE-----';
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Why the text is not a list of PEM certificates, as one sentence. undefined: it is one. */
export function wrongCaFile(file: string, text: string): string | undefined {
  const expected = 'it must be a file of PEM certificates';
  const count = text.split(BEGIN).length - 1;
  if (count === 0) return `azure.caFile is "${file}"; ${expected}, but contains none.`;
  const blocks = text.match(BLOCK) ?? [];
  // A block that is cut off leaves fewer blocks than beginnings.
  const broken = blocks.length < count ? undefined : blocks.findIndex((block) => !isCertificate(block)) + 1;
  if (broken === 0) return undefined;
  const which = broken === undefined ? 'a certificate is cut off' : `certificate ${broken} of ${count} cannot be read`;
  return `azure.caFile is "${file}"; ${expected}, but ${which}.`;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    // Any error of the parser means the same: no certificate.
    return false;
  }
}
